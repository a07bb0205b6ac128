//! Keys that are known by their own form.
//!
//! Prefixes that nothing else has are looked for anywhere: in escaped text a key may follow directly on the `n` of `\n`.
//! Short ones need a border before them and a look at what follows.

use std::sync::OnceLock;

use regex::Regex;

use super::{lower::Lower, spans::Span};

/// A second look at what a form found.
type Look = fn(&str) -> bool;

/// Kind, form, texts of which what the form finds holds one (in lower case; see [`Lower::may_hold`]), second look. Lengths are a
/// little below the real ones, since texts get cut.
const TABLE: &[(&str, &str, &[&str], Look)] = &[
    // PEM and OpenPGP. Without an end the text was cut, and all that follows may be key.
    (
        "private-key",
        r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)",
        &["-----begin"],
        always,
    ),
    // The end of one whose beginning was cut off.
    (
        "private-key",
        r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[rn]){1,4})+[A-Za-z0-9+/=]*(?:\s|\\[rn]){0,4}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        &["-----end"],
        always,
    ),
    (
        "private-key",
        r"Private-Lines: \d+\s+(?P<s>[A-Za-z0-9+/=\s]{16,})",
        &["private-lines"],
        always,
    ),
    (
        "private-key",
        r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
        &["age-secret-key-1"],
        always,
    ),
    (
        "aws-key",
        r"(?P<s>(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:[^A-Za-z0-9/+]|\z)",
        &["akia", "asia", "abia", "acca"],
        always,
    ),
    ("google-key", r"AIza[A-Za-z0-9_-]{30,}", &["aiza"], always),
    ("google-key", r"ya29\.[A-Za-z0-9_-]{20,}", &["ya29."], always),
    ("google-key", r"GOCSPX-[A-Za-z0-9_-]{20,}", &["gocspx-"], always),
    (
        "azure-key",
        r"(?i)(?:AccountKey|SharedAccessKey|SharedAccessSignature)=(?P<s>[A-Za-z0-9+/%=_.~&-]{16,})",
        &["accountkey=", "sharedaccess"],
        always,
    ),
    (
        "azure-key",
        r"[?&;]sig=(?P<s>[A-Za-z0-9+/%=_-]{20,})",
        &["sig="],
        always,
    ),
    (
        "github-token",
        r"gh[pousr]_[A-Za-z0-9]{20,}",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        always,
    ),
    (
        "github-token",
        r"github_pat_[A-Za-z0-9_]{20,}",
        &["github_pat_"],
        always,
    ),
    (
        "gitlab-token",
        r"gl(?:pat|dt|ptt|rt|rtr|soat|ft|imt|agent|cbt|oas)-[A-Za-z0-9_.-]{16,}",
        &[
            "glpat-", "gldt-", "glptt-", "glrt-", "glrtr-", "glsoat-", "glft-", "glimt-", "glagent-", "glcbt-",
            "gloas-",
        ],
        has_digit_or_upper,
    ),
    ("slack-token", r"xox[abceoprs]-[A-Za-z0-9.-]{10,}", &["xox"], always),
    ("slack-token", r"xapp-\d-[A-Za-z0-9-]{10,}", &["xapp-"], always),
    (
        "webhook",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9/_-]{16,})",
        &["hooks.slack.com"],
        always,
    ),
    (
        "webhook",
        r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/(?P<s>\d+/[A-Za-z0-9_-]{16,})",
        &["discord"],
        always,
    ),
    ("npm-token", r"npm_[A-Za-z0-9]{30,}", &["npm_"], has_digit_or_upper),
    ("pypi-token", r"pypi-[A-Za-z0-9_-]{16,}", &["pypi-"], |text| {
        text.starts_with("pypi-Ag") || random(text)
    }),
    (
        "huggingface-token",
        r"(?:^|[^A-Za-z0-9]|\\[nrt])(?P<s>hf_[A-Za-z0-9]{20,})",
        &["hf_"],
        has_digit_or_upper,
    ),
    (
        "stripe-key",
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}",
        &["k_live_", "k_test_"],
        always,
    ),
    ("stripe-key", r"whsec_[A-Za-z0-9+/=]{16,}", &["whsec_"], always),
    (
        "api-key",
        r"(?:^|[^A-Za-z0-9]|\\[nrt])(?P<s>sk-[A-Za-z0-9_-]{16,})",
        &["sk-"],
        random,
    ),
    (
        "api-key",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        &["sg."],
        always,
    ),
    ("api-key", r"do[opr]_v1_[a-f0-9]{32,}", &["_v1_"], always),
    ("api-key", r"dckr_pat_[A-Za-z0-9_-]{20,}", &["dckr_pat_"], always),
    (
        "api-key",
        r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
        &["hvs.", "hvb.", "hvr."],
        always,
    ),
    (
        "api-key",
        r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        always,
    ),
    ("api-key", r"lin_api_[A-Za-z0-9]{20,}", &["lin_api_"], always),
    ("api-key", r"rubygems_[a-f0-9]{32,}", &["rubygems_"], always),
    ("api-key", r"ATATT3[A-Za-z0-9_=-]{20,}", &["atatt3"], always),
    (
        "api-key",
        r"(?:^|[^0-9A-Za-z])(?P<s>\d{8,10}:AA[A-Za-z0-9_-]{30,})",
        &[":aa"],
        always,
    ),
    (
        "jwt",
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}",
        &["eyj"],
        always,
    ),
    ("portcullis-token", r"pcl_[a-z]+_[A-Za-z0-9_-]{16,}", &["pcl_"], always),
    // `scheme://user:password@host`: up to the last `@` before a slash, since people forget to encode one.
    (
        "password",
        r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/@:'"<>?#]*:(?P<s>[^\s/'"<>?#]+)@"#,
        &["://"],
        super::value::is_no_reference,
    ),
    // A token in the place of the user's name.
    (
        "token",
        r#"[A-Za-z][A-Za-z0-9+.-]*://(?P<s>[A-Za-z0-9_-]{20,})@"#,
        &["://"],
        random,
    ),
    // Docker's configuration.
    (
        "authorization",
        r#""auth"\s*:\s*"(?P<s>[A-Za-z0-9+/=]{8,})""#,
        &["\"auth\""],
        always,
    ),
    (
        "secret",
        r"(?i)<[^<>\s]{0,40}(?:password|passwd|passphrase|secret|token|api-?key)>(?P<s>[^<>]+)<",
        &["<"],
        super::value::is_no_reference,
    ),
    // .netrc, as a file and as the text of a printf.
    (
        "password",
        r"login(?:\s|\\n)+[^\s\\]+(?:\s|\\n)+password(?:\s|\\n)+(?P<s>[^\s\\]+)",
        &["login"],
        super::value::is_no_reference,
    ),
    // A password on standard input.
    (
        "password",
        r#"(?:echo|printf)\s+(?:-[A-Za-z]+\s+)?(?P<s>'[^'\n]*'|"[^"\n]*"|[^\s|'"-][^\s|]*)\s*\|\s*(?:sudo\s+(?:-[A-Za-z]+\s+)*-[A-Za-z]*S\b|[^|;\n]*--(?:password-stdin|with-token|token-stdin)\b)"#,
        &["echo", "printf"],
        |text| super::value::is_no_reference(text.trim_matches(['"', '\''])),
    ),
    // openssl
    (
        "password",
        r"\s--?pass(?:in|out)?[ =]pass:(?P<s>\S+)",
        &["pass:"],
        super::value::is_no_reference,
    ),
];

/// The table, each form compiled when a text first comes that it could find something in: to compile all takes longer than a
/// short-lived program should.
static FORMS: [OnceLock<Option<Regex>>; TABLE.len()] = [const { OnceLock::new() }; TABLE.len()];

/// Every secret in a text that is known by its form.
pub(super) fn find(text: &str, lower: &Lower<'_>) -> Vec<Span> {
    let mut found = Vec::new();
    for ((kind, form, needs, is_secret), compiled) in TABLE.iter().zip(&FORMS) {
        if !lower.may_hold(needs) {
            continue;
        }
        // Forms are constants; a test shows that all of them compile.
        let Some(form) = compiled.get_or_init(|| Regex::new(form).ok()) else {
            continue;
        };
        if !form.is_match(text) {
            continue;
        }
        for captures in form.captures_iter(text) {
            let Some(secret) = captures.name("s").or_else(|| captures.get(0)) else {
                continue;
            };
            if is_secret(secret.as_str()) {
                found.push((secret.range(), *kind));
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
    use proptest::{
        strategy::{Strategy as _, ValueTree as _},
        string::string_regex,
        test_runner::TestRunner,
    };

    use super::*;
    use crate::redact::spans::KINDS;

    #[test]
    fn every_form_compiles_and_has_a_known_kind() {
        for (kind, form, _, _) in TABLE {
            assert!(Regex::new(form).is_ok(), "{form}");
            assert!(KINDS.contains(kind), "{form}");
        }
    }

    #[test]
    fn whatever_a_form_finds_holds_one_of_the_texts_it_needs() {
        let mut runner = TestRunner::deterministic();
        for (_, form, needs, _) in TABLE {
            assert!(!needs.is_empty(), "{form}");
            // Borders cannot be generated, and are not looked for.
            let plain = form.replace(r"|\z)", ")").replace("(?:^|", "(?:").replace(r"\b", "");
            let texts = string_regex(&plain).unwrap();
            let compiled = Regex::new(form).unwrap();
            let mut met = 0;
            for _ in 0..1000 {
                // Other letters than those of ASCII would let anything pass.
                let text = texts.new_tree(&mut runner).unwrap().current();
                let ascii = |c: char| match c {
                    _ if c.is_ascii() => c,
                    _ if c.is_numeric() => '1',
                    _ if c.is_whitespace() => ' ',
                    _ => '.',
                };
                let text: String = text.chars().map(ascii).collect();
                if compiled.is_match(&text) {
                    met += 1;
                    assert!(Lower::of(&text).may_hold(needs), "{form}: {text:?}");
                }
            }
            assert!(met > 10, "{form}");
        }
    }
}
