//! What flags of the session and the current directory add to a question.

use std::path::{Path, PathBuf};

use portcullis_client::{Mode, Question, question::Interactivity, question::project_root};
use portcullis_policy::{EffectiveRuleset, verdict::Effect};

use super::{
    args::{PlaceArgs, SessionArgs},
    failure::Failure,
    files,
};

impl SessionArgs {
    /// The mode that the flags name.
    pub(crate) fn mode(&self) -> Option<Mode> {
        if self.force {
            Some(Mode::RunEverything)
        } else {
            self.permission_mode
        }
    }

    /// Adds the session's rules, and its mode and interactivity where the flags name them.
    ///
    /// # Errors
    /// If a rule is none: with the flag that holds it. Then the question is as it was, but for what the other flags say.
    pub(crate) fn apply(&self, question: &mut Question) -> Result<(), Failure> {
        if let Some(mode) = self.mode() {
            question.mode = Some(mode);
        }
        if let Some(file) = &self.plan_file {
            // Not resolved: whether it is a link is the host's to find out.
            question.plan_file = if file.starts_with('/') {
                file.clone()
            } else {
                format!("{}/{file}", question.cwd.trim_end_matches('/'))
            };
        }
        if self.headless {
            question.interactivity = Interactivity::Headless;
        }
        question.approve_mcp_servers = self.approve_mcps;
        question.session_allow = rules("--allowedTools", &self.allowed_tools, Effect::Allow)?;
        question.session_deny = rules("--disallowedTools", &self.disallowed_tools, Effect::Deny)?;
        Ok(())
    }
}

/// The rules of a flag, each checked as the server will check it.
fn rules(flag: &str, words: &[String], effect: Effect) -> Result<Vec<String>, Failure> {
    let rules: Vec<String> = words.iter().flat_map(|rules| split(rules)).collect();
    let read = match effect {
        Effect::Allow => EffectiveRuleset::session_document(&rules, &[]),
        Effect::Ask | Effect::Deny => EffectiveRuleset::session_document(&[], &rules),
    };
    let Err(faults) = read else {
        return Ok(rules);
    };
    // Each rule stands on a line of its own.
    let first = faults.first();
    let rule = first.and_then(|fault| rules.get(usize::try_from(fault.line).ok()?.checked_sub(1)?));
    let message = first.map_or("it cannot be read", |fault| fault.message.as_str());
    let text = match rule {
        Some(rule) => format!("`{flag}` holds `{rule}`, which cannot be used: {message}"),
        None => format!("`{flag}` cannot be used: {message}"),
    };
    let hint = first.and_then(|fault| fault.hint.clone());
    Err(Failure::usage_text(text).with_help(hint.unwrap_or_else(|| {
        "write rules as `Tool` or `Tool(specifier)`, separated by commas or blanks, such as `Bash(git log *),Read`"
            .to_owned()
    })))
}

/// Splits at commas and blanks, never inside parentheses.
fn split(rules: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    for c in rules.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Where a call from the command line happens.
pub(crate) struct Place {
    pub(crate) cwd: String,
    pub(crate) root: String,
}

impl PlaceArgs {
    /// Finds working directory and workspace, as absolute paths.
    pub(crate) fn find(&self) -> Result<Place, Failure> {
        let current =
            || std::env::current_dir().map_err(|cause| Failure::io("cannot tell what the current directory is", cause));
        let absolute = |path: &Path| -> Result<PathBuf, Failure> {
            let path = if path.is_absolute() {
                path.to_owned()
            } else {
                current()?.join(path)
            };
            files::folder(&path)
                .map_err(|cause| Failure::io(format!("cannot use the directory `{}`", path.display()), cause))
        };
        let cwd = match &self.cwd {
            Some(cwd) => absolute(cwd)?,
            None => current()?,
        };
        let root = match &self.workspace {
            Some(root) => absolute(root)?,
            None => project_root(&cwd),
        };
        Ok(Place {
            cwd: text(cwd)?,
            root: text(root)?,
        })
    }
}

/// A path as text, which is how it travels.
pub(crate) fn text(path: PathBuf) -> Result<String, Failure> {
    path.into_os_string()
        .into_string()
        .map_err(|path| Failure::usage_text(format!("the path `{}` is not UTF-8", path.to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn rules_are_split_outside_parentheses_only() {
        assert_eq!(
            split("Bash(git log *), Read  Edit(a,b),,mcp__x__*"),
            ["Bash(git log *)", "Read", "Edit(a,b)", "mcp__x__*"]
        );
        assert_eq!(split("Bash(echo (a b) c) Read"), ["Bash(echo (a b) c)", "Read"]);
        assert_eq!(split(" , "), Vec::<String>::new());
        assert_eq!(split("Bash(open Read"), ["Bash(open Read"]);
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_separators_is_lost(rules in "[A-Za-z(), *]{0,40}") {
            let kept: String = split(&rules).concat();
            let strip = |text: &str| text.replace([',', ' '], "");
            proptest::prop_assert_eq!(strip(&kept), strip(&rules));
        }
    }
}
