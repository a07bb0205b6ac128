//! Constructs that are written down as templates: `constructs.txt`.
//!
//! The grammar in the parent module nests what people nest. What bash has besides (`coproc`, `hash -p`, references to
//! variables, the flags of each wrapper) is a list, and a list is easier to read and to extend as data.

use super::{Maker, PROGRAMS};

const TEMPLATES: &str = include_str!("../../constructs.txt");

/// The templates, each with the heading that it stands under.
fn templates() -> Vec<(&'static str, &'static str)> {
    let mut heading = "";
    let mut found = Vec::new();
    for line in TEMPLATES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
    {
        match line.strip_prefix("== ") {
            Some(name) => heading = name,
            None => found.push((heading, line)),
        }
    }
    found
}

impl Maker<'_> {
    /// One of the templates, filled.
    pub(super) fn construct(&mut self, depth: usize) -> String {
        // A here-document that waits would begin at the template's first line end.
        if !self.heredocs.is_empty() {
            return self.simple(depth);
        }
        let all = templates();
        let (heading, template) = all[self.random.below(all.len())];
        self.tag(heading);
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('‹') {
            let (what, after) = after.split_once('›').expect("a bracket is closed");
            text.push_str(&before.replace("\\n", "\n"));
            text.push_str(&self.filling(what, depth.saturating_sub(1)));
            rest = after;
        }
        text.push_str(&rest.replace("\\n", "\n"));
        text
    }

    fn filling(&mut self, what: &str, depth: usize) -> String {
        match what {
            "P" => self.random.pick(PROGRAMS).to_owned(),
            "C" => self.program(),
            "W" => self.word(depth),
            "S" => self.substitution_flat(depth),
            "A" => self.arithmetic(depth),
            "F" => self.random.pick(&["out", "new", "sub/new", "a.txt"]).to_owned(),
            "L" => self.list_flat(depth),
            "Q" => self.list_flat(depth).replace('\'', "'\\''"),
            other => unreachable!("no such filling: {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_template_stands_under_a_heading_and_is_closed() {
        let mut headings = BTreeSet::new();
        for (heading, template) in templates() {
            assert!(!heading.is_empty(), "{template}");
            headings.insert(heading);
            for part in template.split('‹').skip(1) {
                let what = part.split_once('›').map(|(what, _)| what);
                assert!(
                    what.is_some_and(|what| ["P", "C", "W", "S", "A", "F", "L", "Q"].contains(&what)),
                    "{template}"
                );
            }
        }
        assert!(headings.len() > 20, "{headings:?}");
    }
}
