//! Finds rules that may contain another one, without comparing each with each: documents hold thousands.
//!
//! A rule is filed under a text that everything has which it covers, the rarest that it offers: so thousands of rules that
//! begin or end alike are told apart by what else they say. Of several that say the same in one document, the first stands for
//! all. It only proposes; [`contain`](super::contain) says whether one really contains the other.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Placed, contain};
use crate::{Effect, Layer, rule::Matcher};

/// Most texts in the middle of one pattern that are looked at.
const MOST_MIDDLES: usize = 8;

/// Where a text stands in all that a pattern on commands covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Whole,
    Beginning,
    End,
    Inside,
}

/// Rules by texts of one place.
#[derive(Default)]
struct Texts<'a> {
    rules: HashMap<&'a str, Vec<usize>>,
    lengths: BTreeSet<usize>,
}

impl<'a> Texts<'a> {
    fn file(&mut self, text: &'a str, number: usize) {
        self.lengths.insert(text.len());
        self.rules.entry(text).or_default().push(number);
    }

    fn get(&self, text: Option<&str>) -> &[usize] {
        text.and_then(|text| self.rules.get(text)).map_or(&[], Vec::as_slice)
    }
}

/// The rules of some documents.
#[derive(Default)]
pub(super) struct Index<'a> {
    whole: Texts<'a>,
    beginning: Texts<'a>,
    end: Texts<'a>,
    inside: Texts<'a>,
    /// Of a path: by the folder that it is about.
    by_folder: HashMap<&'a str, Vec<usize>>,
    /// Of a host with a wildcard: by the labels that it ends in.
    by_ending: HashMap<&'a str, Vec<usize>>,
    by_text: HashMap<&'a str, Vec<usize>>,
    others: Vec<usize>,
}

/// The texts that all have which a pattern on commands covers.
fn texts_of(pattern: &crate::rule::TextPattern) -> Vec<(Place, &str)> {
    let text = pattern.text();
    if pattern.is_exact() {
        return vec![(Place::Whole, text)];
    }
    let mut pieces = text.split('*');
    // A blank and the only star at the end stand for nothing, too.
    let alone = text.strip_suffix(" *").filter(|before| !before.contains('*'));
    let first = alone.or_else(|| pieces.next()).unwrap_or_default();
    let last = text.rsplit('*').next().unwrap_or_default();
    let inside = text.split('*').skip(1).take(MOST_MIDDLES);
    let ends = [(Place::Beginning, first), (Place::End, last)];
    let all = ends.into_iter().chain(inside.map(|piece| (Place::Inside, piece)));
    all.filter(|(_, text)| !text.is_empty()).collect()
}

impl<'a> Index<'a> {
    pub(super) fn build(all: &[Placed<'a>]) -> Self {
        let mut first = HashMap::<(usize, Layer, Effect, &str), usize>::new();
        for (number, placed) in all.iter().enumerate() {
            let rule = placed.rule;
            // What holds under a condition only contains nothing.
            if rule.when.is_some() || !rule.exceptions.is_empty() {
                continue;
            }
            let place = |number: usize| {
                all.get(number)
                    .map(|placed| (placed.rule.source.line, placed.rule.source.column))
            };
            first
                .entry((placed.document, rule.source.layer, rule.effect, &*rule.source.text))
                .and_modify(|known| {
                    if place(number) < place(*known) {
                        *known = number;
                    }
                })
                .or_insert(number);
        }
        let numbers: BTreeSet<usize> = first.into_values().collect();
        let rules = || {
            numbers
                .iter()
                .filter_map(|number| Some((*number, all.get(*number)?.rule)))
        };
        let mut counts = HashMap::<(Place, &str), usize>::new();
        for (_, rule) in rules() {
            if let Matcher::Shell(pattern) = &rule.matcher {
                for text in texts_of(pattern) {
                    *counts.entry(text).or_default() += 1;
                }
            }
        }
        let mut index = Self::default();
        for (number, rule) in rules() {
            index.by_text.entry(&rule.source.text).or_default().push(number);
            match &rule.matcher {
                Matcher::Shell(pattern) => {
                    let rarest = texts_of(pattern)
                        .into_iter()
                        .min_by_key(|text| counts.get(text).copied().unwrap_or_default());
                    match rarest {
                        Some((Place::Whole, text)) => index.whole.file(text, number),
                        Some((Place::Beginning, text)) => index.beginning.file(text, number),
                        Some((Place::End, text)) => index.end.file(text, number),
                        Some((Place::Inside, text)) => index.inside.file(text, number),
                        None => index.others.push(number),
                    }
                }
                Matcher::Path {
                    pattern: Some(pattern), ..
                } => {
                    let folder = contain::folder_of(pattern.text());
                    index.by_folder.entry(folder).or_default().push(number);
                }
                Matcher::Fetch(Some(host)) if host.exact().is_none() => {
                    index.by_ending.entry(host.ending()).or_default().push(number);
                }
                // They contain what says the same, and nothing else.
                Matcher::Fetch(Some(_))
                | Matcher::WebSearch(Some(_))
                | Matcher::Agent(Some(_))
                | Matcher::Mcp(_)
                | Matcher::Tool(_)
                | Matcher::Tools(_)
                | Matcher::Parameter { .. } => {}
                Matcher::Skill(skill) if *skill != crate::rule::SkillPattern::Every => {}
                _ => index.others.push(number),
            }
        }
        index
    }

    /// Numbers of rules that may contain this one.
    pub(super) fn candidates(&self, placed: &Placed<'_>) -> Vec<usize> {
        let rule = placed.rule;
        let mut found = HashSet::new();
        match &rule.matcher {
            Matcher::Shell(_) => {
                if let Some(text) = contain::opaque_of(rule) {
                    self.by_words(&text, &mut found);
                }
            }
            Matcher::Path {
                pattern: Some(pattern), ..
            } => {
                // The folder itself, and each that it lies below.
                let folder = contain::folder_of(pattern.text());
                let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
                found.extend(ends.filter_map(|end| self.by_folder.get(folder.get(..end)?)).flatten());
            }
            Matcher::Fetch(Some(host)) => {
                let text = host.text();
                let starts = text.match_indices('.').map(|(at, _)| at + 1).chain([0, text.len()]);
                found.extend(starts.filter_map(|at| self.by_ending.get(text.get(at..)?)).flatten());
            }
            _ => {}
        }
        found.extend(self.by_text.get(&*rule.source.text).into_iter().flatten());
        found.extend(&self.others);
        let mut found: Vec<usize> = found.into_iter().copied().collect();
        found.sort_unstable();
        found
    }

    fn by_words<'i>(&'i self, text: &str, found: &mut HashSet<&'i usize>) {
        found.extend(self.whole.get(Some(text)));
        for length in self.beginning.lengths.range(..=text.len()) {
            found.extend(self.beginning.get(text.get(..*length)));
        }
        for length in self.end.lengths.range(..=text.len()) {
            found.extend(self.end.get(text.get(text.len() - length..)));
        }
        for length in self.inside.lengths.range(..=text.len()) {
            for start in 0..=text.len() - length {
                found.extend(self.inside.get(text.get(start..start + length)));
            }
        }
    }
}
