//! Keys that are known by their own form.
//!
//! Prefixes that nothing else has are looked for anywhere: in escaped text a key may follow directly on the `n` of `\n`.
//! Short ones need a border before them and a look at what follows.

use std::sync::LazyLock;

use regex::Regex;

use super::spans::Span;

/// One form of secret.
struct Pattern {
    /// Its kind.
    kind: &'static str,
    /// Its form; the group `s` is the secret, without one the whole match.
    form: Regex,
    /// A second look at the secret.
    is_secret: Look,
}

/// A second look at what a form found.
type Look = fn(&str) -> bool;

/// Kind, form, second look. Lengths are a little below the real ones, since texts get cut.
const TABLE: &[(&str, &str, Look)] = &[
    // PEM and OpenPGP. Without an end the text was cut, and all that follows may be key.
    (
        "private-key",
        r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)",
        always,
    ),
    // The end of one whose beginning was cut off.
    (
        "private-key",
        r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[rn]){1,4})+[A-Za-z0-9+/=]*(?:\s|\\[rn]){0,4}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        always,
    ),
    (
        "private-key",
        r"Private-Lines: \d+\s+(?P<s>[A-Za-z0-9+/=\s]{16,})",
        always,
    ),
    ("private-key", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}", always),
    (
        "aws-key",
        r"(?P<s>(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:[^A-Za-z0-9/+]|\z)",
        always,
    ),
    ("google-key", r"AIza[A-Za-z0-9_-]{30,}", always),
    ("google-key", r"ya29\.[A-Za-z0-9_-]{20,}", always),
    ("google-key", r"GOCSPX-[A-Za-z0-9_-]{20,}", always),
    (
        "azure-key",
        r"(?i)(?:AccountKey|SharedAccessKey|SharedAccessSignature)=(?P<s>[A-Za-z0-9+/%=_.~&-]{16,})",
        always,
    ),
    ("azure-key", r"[?&;]sig=(?P<s>[A-Za-z0-9+/%=_-]{20,})", always),
    ("github-token", r"gh[pousr]_[A-Za-z0-9]{20,}", always),
    ("github-token", r"github_pat_[A-Za-z0-9_]{20,}", always),
    (
        "gitlab-token",
        r"gl(?:pat|dt|ptt|rt|rtr|soat|ft|imt|agent|cbt|oas)-[A-Za-z0-9_.-]{16,}",
        has_digit_or_upper,
    ),
    ("slack-token", r"xox[abceoprs]-[A-Za-z0-9.-]{10,}", always),
    ("slack-token", r"xapp-\d-[A-Za-z0-9-]{10,}", always),
    (
        "webhook",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9/_-]{16,})",
        always,
    ),
    (
        "webhook",
        r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/(?P<s>\d+/[A-Za-z0-9_-]{16,})",
        always,
    ),
    ("npm-token", r"npm_[A-Za-z0-9]{30,}", has_digit_or_upper),
    ("pypi-token", r"pypi-[A-Za-z0-9_-]{16,}", |text| {
        text.starts_with("pypi-Ag") || random(text)
    }),
    (
        "huggingface-token",
        r"(?:^|[^A-Za-z0-9]|\\[nrt])(?P<s>hf_[A-Za-z0-9]{20,})",
        has_digit_or_upper,
    ),
    ("stripe-key", r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}", always),
    ("stripe-key", r"whsec_[A-Za-z0-9+/=]{16,}", always),
    (
        "api-key",
        r"(?:^|[^A-Za-z0-9]|\\[nrt])(?P<s>sk-[A-Za-z0-9_-]{16,})",
        random,
    ),
    ("api-key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", always),
    ("api-key", r"do[opr]_v1_[a-f0-9]{32,}", always),
    ("api-key", r"dckr_pat_[A-Za-z0-9_-]{20,}", always),
    ("api-key", r"hv[sbr]\.[A-Za-z0-9_-]{20,}", always),
    ("api-key", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}", always),
    ("api-key", r"lin_api_[A-Za-z0-9]{20,}", always),
    ("api-key", r"rubygems_[a-f0-9]{32,}", always),
    ("api-key", r"ATATT3[A-Za-z0-9_=-]{20,}", always),
    (
        "api-key",
        r"(?:^|[^0-9A-Za-z])(?P<s>\d{8,10}:AA[A-Za-z0-9_-]{30,})",
        always,
    ),
    (
        "jwt",
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}",
        always,
    ),
    ("portcullis-token", r"pcl_[a-z]+_[A-Za-z0-9_-]{16,}", always),
    // `scheme://user:password@host`: up to the last `@` before a slash, since people forget to encode one.
    (
        "password",
        r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/@:'"<>?#]*:(?P<s>[^\s/'"<>?#]+)@"#,
        super::value::is_no_reference,
    ),
    // A token in the place of the user's name.
    (
        "token",
        r#"[A-Za-z][A-Za-z0-9+.-]*://(?P<s>[A-Za-z0-9_-]{20,})@"#,
        random,
    ),
    // Docker's configuration.
    ("authorization", r#""auth"\s*:\s*"(?P<s>[A-Za-z0-9+/=]{8,})""#, always),
    (
        "secret",
        r"(?i)<[^<>\s]{0,40}(?:password|passwd|passphrase|secret|token|api-?key)>(?P<s>[^<>]+)<",
        super::value::is_no_reference,
    ),
    // .netrc, as a file and as the text of a printf.
    (
        "password",
        r"login(?:\s|\\n)+[^\s\\]+(?:\s|\\n)+password(?:\s|\\n)+(?P<s>[^\s\\]+)",
        super::value::is_no_reference,
    ),
    // A password on standard input.
    (
        "password",
        r#"(?:echo|printf)\s+(?:-[A-Za-z]+\s+)?(?P<s>'[^'\n]*'|"[^"\n]*"|[^\s|'"-][^\s|]*)\s*\|\s*(?:sudo\s+(?:-[A-Za-z]+\s+)*-[A-Za-z]*S\b|[^|;\n]*--(?:password-stdin|with-token|token-stdin)\b)"#,
        |text| super::value::is_no_reference(text.trim_matches(['"', '\''])),
    ),
    // openssl
    (
        "password",
        r"\s--?pass(?:in|out)?[ =]pass:(?P<s>\S+)",
        super::value::is_no_reference,
    ),
];

/// The table, compiled. Forms are constants; a test shows that all of them compile.
static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let compile = |(kind, form, is_secret): &(&'static str, &str, Look)| {
        Some(Pattern {
            kind,
            form: Regex::new(form).ok()?,
            is_secret: *is_secret,
        })
    };
    TABLE.iter().filter_map(compile).collect()
});

/// Every secret in a text that is known by its form.
pub(super) fn find(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    for pattern in PATTERNS.iter() {
        if !pattern.form.is_match(text) {
            continue;
        }
        for captures in pattern.form.captures_iter(text) {
            let Some(secret) = captures.name("s").or_else(|| captures.get(0)) else {
                continue;
            };
            if (pattern.is_secret)(secret.as_str()) {
                found.push((secret.range(), pattern.kind));
            }
        }
    }
    found
}

/// The form is enough.
fn always(_: &str) -> bool {
    true
}

/// Holds a digit or a capital, as names of packages and classes rarely do.
fn has_digit_or_upper(text: &str) -> bool {
    text.bytes()
        .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// Holds a long run of letters and digits mixed: names made of words do not.
fn random(text: &str) -> bool {
    text.split(['-', '_']).any(|run| {
        run.len() >= 16
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::spans::KINDS;

    #[test]
    fn every_form_compiles_and_has_a_known_kind() {
        assert_eq!(PATTERNS.len(), TABLE.len());
        for (kind, form, _) in TABLE {
            assert!(KINDS.contains(kind), "{form}");
        }
    }
}
