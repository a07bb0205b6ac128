//! Which repositories agents may work in, by the remotes of the repository.
//!
//! The same repository has many spellings (`git@github.com:a/b.git`, `https://token@GitHub.com:443/a/b/`), so remotes and
//! patterns are brought into one: host, and path without `.git`. A remote on this disk has no host and meets no pattern.

use std::ops::Range;

use crate::{
    facts::{Repositories, RepositoryIdentity},
    rule::HostPattern,
};

/// Longest address of a remote that is read, in bytes.
const MAX_REMOTE: usize = 4096;

/// Repositories that a team blocks, or that alone it permits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryControls {
    /// One remote that meets one of these, and nothing runs.
    pub blocked: Vec<RepositoryPattern>,
    /// Repositories that the team knows.
    pub known: Vec<RepositoryPattern>,
    /// Nothing runs in any other.
    pub require_known: bool,
}

/// A pattern over repositories: `github.com/acme` and all below, `github.com/acme/site`, `*.corp.example/**/secret`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryPattern {
    /// As written, for messages.
    text: String,
    host: HostPattern,
    /// Segments of the path; `**` stands for any number of them.
    path: Vec<String>,
}

/// A remote in its one spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remote {
    /// On this disk, or in a file.
    Local,
    /// At a host.
    At {
        /// The host.
        host: String,
        /// Segments of the path, without `.git` at the end.
        path: Vec<String>,
    },
}

impl Remote {
    /// Reads a remote's address; `None` if it cannot be told where it leads.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text.len() > MAX_REMOTE || text.chars().any(|c| c.is_control() || c == '\\') {
            return None;
        }
        // `ext::…` and kin run a program that knows where it leads; what follows is its business.
        let (helper, text) = match text.split_once("::") {
            Some((helper, rest))
                if !helper.is_empty() && helper.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') =>
            {
                (true, rest)
            }
            _ => (false, text),
        };
        if let Some((scheme, rest)) = text.split_once("://") {
            if scheme.eq_ignore_ascii_case("file") {
                return Some(Self::Local);
            }
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            let host = match authority.strip_prefix('[') {
                Some(rest) => rest.split_once(']')?.0,
                None => authority.split(':').next()?,
            };
            return Self::at(host, path);
        }
        if helper {
            return None;
        }
        // scp's form: a colon before the first slash.
        let slash = text.find('/').unwrap_or(text.len());
        let head = text.get(..slash)?;
        match head.find("]:").map(|at| at + 1).or_else(|| head.find(':')) {
            Some(colon) => {
                let before = unbracketed(text.get(..colon)?);
                let host = unbracketed(before.rsplit_once('@').map_or(before, |(_, host)| host));
                // `[host:22]:path` names a port.
                let host = match host.split_once(':') {
                    Some((host, port)) if port.chars().all(|c| c.is_ascii_digit()) => host,
                    _ => host,
                };
                Self::at(host, text.get(colon + 1..)?)
            }
            None => Some(Self::Local),
        }
    }

    fn at(host: &str, path: &str) -> Option<Self> {
        let host = crate::rule::host_of(&if host.contains(':') {
            format!("https://[{host}]/")
        } else {
            format!("https://{host}/")
        })?;
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = crate::rule::percent_decoded(path);
        let mut segments: Vec<String> = Vec::new();
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => drop(segments.pop()),
                other => segments.push(other.to_owned()),
            }
        }
        if let Some(last) = segments.last_mut() {
            while last.len() > 4
                && last
                    .get(last.len() - 4..)
                    .is_some_and(|end| end.eq_ignore_ascii_case(".git"))
            {
                last.truncate(last.len() - 4);
            }
        }
        Some(Self::At {
            host: usual_name(host),
            path: segments,
        })
    }
}

fn unbracketed(text: &str) -> &str {
    text.strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text)
}

/// Names under which the same host answers for those who may only use the port of the web.
fn usual_name(host: String) -> String {
    match host.as_str() {
        "ssh.github.com" | "www.github.com" => "github.com".to_owned(),
        "altssh.gitlab.com" | "www.gitlab.com" => "gitlab.com".to_owned(),
        "altssh.bitbucket.org" | "www.bitbucket.org" => "bitbucket.org".to_owned(),
        _ => host,
    }
}

impl RepositoryPattern {
    /// As written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Reads a pattern.
    ///
    /// # Errors
    /// With the span of the fault, what it is, and a hint.
    pub fn parse(text: &str) -> Result<Self, (Range<usize>, String, Option<String>)> {
        if let Some(at) = text.find("://") {
            let rest = text.get(at + 3..).unwrap_or_default();
            let hint = format!("write `{}`", rest.trim_end_matches(".git"));
            return Err((
                0..at + 3,
                "a repository's pattern holds no scheme: all spellings count".to_owned(),
                Some(hint),
            ));
        }
        let (host, path) = text.split_once('/').unwrap_or((text, ""));
        let host_pattern = HostPattern::parse(host).map_err(|(span, message, _)| {
            (
                span,
                message,
                Some("write `github.com/acme/site` or `github.com/acme`".to_owned()),
            )
        })?;
        let path = path.trim_end_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let path: Vec<String> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(str::to_owned)
            .collect();
        if path.iter().any(|segment| segment == "." || segment == "..") {
            return Err((
                0..text.len(),
                "`.` and `..` lead nowhere in a repository's address".to_owned(),
                None,
            ));
        }
        Ok(Self {
            text: text.to_owned(),
            host: host_pattern,
            path,
        })
    }

    fn matches(&self, remote: &Remote, ignore_case: bool) -> bool {
        let Remote::At { host, path } = remote else {
            return false;
        };
        let equal = |text: &str| {
            if ignore_case {
                text.to_lowercase()
            } else {
                text.to_owned()
            }
        };
        let ours: Vec<String> = self.path.iter().map(|segment| equal(segment)).collect();
        let theirs: Vec<String> = path.iter().map(|segment| equal(segment)).collect();
        self.host.matches(host) && begins(&ours, &theirs)
    }
}

/// Whether a path begins as a pattern says.
fn begins(pattern: &[String], path: &[String]) -> bool {
    // One row per segment of the pattern: which beginnings of the path it can have used up.
    let mut reached = vec![false; path.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for segment in pattern {
        let mut next = vec![false; path.len() + 1];
        if segment == "**" {
            let mut open = false;
            for (here, slot) in reached.iter().zip(next.iter_mut()) {
                open |= here;
                *slot = open;
            }
        } else {
            let own = crate::rule::TextPattern::parse(segment);
            for ((here, slot), name) in reached.iter().zip(next.iter_mut().skip(1)).zip(path) {
                *slot = *here && own.matches(name);
            }
        }
        reached = next;
    }
    reached.contains(&true)
}

impl RepositoryControls {
    /// Why nothing may run in these repositories; `None` if something may.
    #[must_use]
    pub fn objection(&self, repositories: &Repositories) -> Option<String> {
        if self.blocked.is_empty() && !self.require_known {
            return None;
        }
        let Repositories::Known(all) = repositories else {
            return Some("the team controls repositories, and which one this is could not be found out".to_owned());
        };
        all.iter().find_map(|repository| self.objection_to(repository))
    }

    fn objection_to(&self, repository: &RepositoryIdentity) -> Option<String> {
        let root = &repository.root;
        let remotes: Vec<Option<Remote>> = repository.remotes.iter().map(|text| Remote::parse(text)).collect();
        if !self.blocked.is_empty() {
            for remote in &remotes {
                let Some(remote) = remote else {
                    return Some(format!(
                        "the team blocks repositories, and a remote of {root} cannot be read"
                    ));
                };
                // Hosts disagree about the case of a path, so it does not save one.
                if let Some(pattern) = self.blocked.iter().find(|pattern| pattern.matches(remote, true)) {
                    return Some(format!(
                        "the team blocks the repository {root}: a remote is in `{}`",
                        pattern.text
                    ));
                }
            }
        }
        let known = || {
            let mut known = remotes.iter().flatten();
            known.any(|remote| self.known.iter().any(|pattern| pattern.matches(remote, false)))
        };
        (self.require_known && !known())
            .then(|| format!("the team permits known repositories only, and {root} has no remote that it knows"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AbsPath;

    fn patterns(list: &[&str]) -> Vec<RepositoryPattern> {
        list.iter()
            .map(|text| RepositoryPattern::parse(text).unwrap())
            .collect()
    }

    fn identity(remotes: &[&str]) -> Repositories {
        Repositories::Known(vec![RepositoryIdentity {
            root: AbsPath::parse("/w").unwrap(),
            remotes: remotes.iter().map(|text| (*text).to_owned()).collect(),
        }])
    }

    #[test]
    fn every_spelling_of_a_remote_is_the_same_repository() {
        for text in [
            "git@github.com:acme/secret.git",
            "github.com:acme/secret",
            "https://github.com/acme/secret",
            "https://user:token@GitHub.COM.:443/acme/secret.git/",
            "ssh://git@github.com:22/acme/secret.git",
            "ssh://git@ssh.github.com:443/acme/secret.git",
            "git+ssh://git@github.com/acme/secret",
            "git://github.com//acme/./secret",
            "https://github.com/x/../acme/secret",
            "https://github.com/%61cme/secret.git?x#y",
            "git@github.com:/acme/secret.git.git",
            "[git@github.com:22]:acme/secret",
            "http::https://github.com/acme/secret",
            "https://www.github.com/Acme/Secret",
        ] {
            let controls = RepositoryControls {
                blocked: patterns(&["github.com/acme/secret"]),
                ..Default::default()
            };
            assert!(
                controls.objection(&identity(&["https://a.example/b", text])).is_some(),
                "{text}"
            );
        }
    }

    #[test]
    fn neighbours_are_other_repositories() {
        let controls = RepositoryControls {
            blocked: patterns(&[
                "github.com/acme/secret",
                "*.corp.example",
                "git.example/*/vault",
                "x.example/**/k",
            ]),
            ..Default::default()
        };
        for (text, blocked) in [
            ("git@github.com:acme/secrets.git", false),
            ("git@github.com:acme/site.git", false),
            ("https://github.com.evil.example/acme/secret", false),
            ("https://evil.example/github.com/acme/secret", false),
            ("https://github.com@evil.example/acme/secret", false),
            ("git@git.corp.example:anything", true),
            ("git@corp.example:anything", false),
            ("https://git.example/a/vault", true),
            ("https://git.example/a/vault/wiki", true),
            ("https://git.example/a/b/vault", false),
            ("https://x.example/a/b/k", true),
            ("https://x.example/k", true),
            ("/srv/git/secret.git", false),
            ("../github.com/acme/secret", false),
            ("file:///github.com/acme/secret", false),
            ("ext::sh -c evil", true),
            ("https://github.com\\@x/acme/secret", true),
        ] {
            assert_eq!(controls.objection(&identity(&[text])).is_some(), blocked, "{text}");
        }
        assert!(controls.objection(&identity(&[])).is_none());
        assert!(controls.objection(&Repositories::Unknown).is_some());
        assert!(
            RepositoryControls::default()
                .objection(&Repositories::Unknown)
                .is_none()
        );
    }

    #[test]
    fn only_known_repositories_where_the_team_says_so() {
        let controls = RepositoryControls {
            known: patterns(&["github.com/acme"]),
            require_known: true,
            ..Default::default()
        };
        for (remotes, refused) in [
            (&["git@github.com:acme/site.git"][..], false),
            (
                &["https://me@github.com/me/site", "git@github.com:acme/site.git"],
                false,
            ),
            (&["git@github.com:acme-evil/site.git"], true),
            (&["git@github.com:Acme/site.git"], true),
            (&["/srv/git/site.git"], true),
            (&[], true),
        ] {
            assert_eq!(controls.objection(&identity(remotes)).is_some(), refused, "{remotes:?}");
        }
        assert!(controls.objection(&Repositories::Unknown).is_some());
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in [
            "",
            "https://github.com/acme",
            "git@github.com:acme/x",
            "github.com/../x",
            "/acme",
        ] {
            assert!(RepositoryPattern::parse(text).is_err(), "{text}");
        }
    }
}
