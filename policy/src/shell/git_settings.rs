//! Settings behind `git -c` that an allow rule with a wildcard covers: the data file `policy/data/git-settings.toml`.
//!
//! Everything that is not listed may make git run another program, and counts as an option that does. It tells nothing about
//! what settings do otherwise, and denies never look here.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{
    data::{self, ByName},
    variables::is_of_form,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    keys: String,
    values: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    setting: Vec<Raw>,
}

type Values = &'static [&'static str];

struct Table {
    exact: ByName<Values>,
    /// Beginnings, without their `*`.
    beginnings: Vec<(&'static str, Values)>,
}

const FILE: &str = include_str!("../../data/git-settings.toml");

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let raws: Raws = data::read("git-settings.toml", FILE);
    let (mut exact, mut beginnings) = (Vec::new(), Vec::new());
    for raw in raws.setting {
        let values: Values = data::words(&raw.values);
        let kept: &'static Values = data::keep(values);
        for key in data::words(&raw.keys) {
            match key.strip_suffix('*') {
                Some(beginning) => beginnings.push((beginning, values)),
                None => exact.push((*key, kept)),
            }
        }
    }
    Table {
        exact: ByName::new(exact),
        beginnings,
    }
});

/// Whether git runs nothing by a setting, and does nothing elsewhere: `color.ui=never`.
pub(super) fn is_harmless(setting: &str) -> bool {
    let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
    let key = key.to_ascii_lowercase();
    let begun = || {
        let mut beginnings = TABLE.beginnings.iter();
        beginnings
            .find(|(beginning, _)| key.starts_with(beginning))
            .map(|(_, values)| *values)
    };
    let values = TABLE.exact.find(&key).copied().or_else(begun).unwrap_or_default();
    let is_value = |form: &&str| match *form {
        "*" => !value.contains(['\n', '\0']),
        form => is_of_form(form, &value.to_ascii_lowercase()),
    };
    values.iter().any(is_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_stands_once_and_each_entry_says_why() {
        let raws: Raws = data::read("git-settings.toml", FILE);
        let mut seen = std::collections::HashSet::new();
        for raw in &raws.setting {
            assert!(raw.why.len() > 5 && !raw.values.is_empty(), "{}", raw.keys);
            for key in raw.keys.split_whitespace() {
                assert!(seen.insert(key) && key == key.to_ascii_lowercase(), "{key}");
            }
        }
    }

    #[test]
    fn what_runs_nothing() {
        for setting in [
            "color.ui=never",
            "Color.UI=always",
            "user.name=A B",
            "core.quotePath=false",
            "core.quotepath",
            "advice.detachedHead=false",
            "core.pager=cat",
            "commit.gpgSign=false",
            "init.defaultBranch=main",
            "gc.auto=0",
            "diff.renameLimit=100",
        ] {
            assert!(is_harmless(setting), "{setting}");
        }
        for setting in [
            "",
            "core.pager=less",
            "core.pager=cat;id",
            "core.pager",
            "core.hooksPath=x",
            "core.sshCommand=x",
            "core.fsmonitor=./x",
            "core.fsmonitor=true",
            "commit.gpgsign=true",
            "gpg.program=x",
            "alias.x=!id",
            "color.ui=!id",
            "colour.ui=never",
            "pager.log=./x",
            "diff.external=x",
            "diff.x.textconv=cat",
            "user.signingkey=x",
            "http.proxy=x",
            "url.x.insteadOf=y",
            "safe.directory=*",
            "push.default=matching",
            "log.showSignature=true",
            "include.path=x",
            "format.pretty=%(trailers)",
            "remote.origin.url=x",
        ] {
            assert!(!is_harmless(setting), "{setting}");
        }
    }
}
