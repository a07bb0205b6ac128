//! Names of hosts in one spelling: labels in lower case, other scripts as `xn--…`, addresses as everybody prints them.
//!
//! A host that programs read in different ways has no spelling here: then nobody can say which host it is. What is read
//! in one way by all who read it at all (`0x7f.1`) is brought into that one. Names that look like other names keep their
//! spelling, so that a deny can name them; [`is_deceptive`] says which they are, and no allow covers those.

use std::net::{Ipv4Addr, Ipv6Addr};

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

/// The one spelling of a host as it stands in an address, without brackets and port; `None` if there is none.
pub(super) fn canonical(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let ascii = if host.is_ascii() {
        host.to_ascii_lowercase()
    } else {
        to_ascii(host)?
    };
    let plain =
        |label: &str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !ascii.split('.').all(plain) || !readable(&ascii) {
        return None;
    }
    // By the last label a browser tells an address from a name, whatever stands before it.
    let last = ascii.rsplit('.').next().unwrap_or_default();
    if is_number(last) {
        return ipv4(&ascii).map(|address| address.to_string());
    }
    Some(ascii)
}

/// The one spelling of an IPv6 address without its brackets. One that stands for an IPv4 address is that one.
pub(super) fn canonical_v6(text: &str) -> Option<String> {
    let address: Ipv6Addr = text.parse().ok()?;
    Some(match address.to_ipv4_mapped() {
        Some(inner) => inner.to_string(),
        None => address.to_string(),
    })
}

/// A name with letters of other scripts in ASCII; `None` where programs disagree about it: letters that one maps to
/// others, and those that the older standard did away with.
fn to_ascii(host: &str) -> Option<String> {
    let disputed = |c: char| matches!(c, 'ß' | 'ẞ' | 'ς' | '\u{200c}' | '\u{200d}');
    if host.contains(disputed) {
        return None;
    }
    let uts46 = Uts46::new();
    let ascii = uts46
        .to_ascii(host.as_bytes(), AsciiDenyList::URL, Hyphens::Allow, DnsLength::Ignore)
        .ok()?;
    let (back, fine) = uts46.to_unicode(ascii.as_bytes(), AsciiDenyList::URL, Hyphens::Allow);
    (fine.is_ok() && back == host.to_lowercase()).then(|| ascii.into_owned())
}

/// Whether every `xn--…` label stands for a name, and is the only spelling of it.
fn readable(ascii: &str) -> bool {
    if !ascii.split('.').any(|label| label.starts_with("xn--")) {
        return true;
    }
    let uts46 = Uts46::new();
    let (unicode, fine) = uts46.to_unicode(ascii.as_bytes(), AsciiDenyList::URL, Hyphens::Allow);
    fine.is_ok()
        && uts46
            .to_ascii(
                unicode.as_bytes(),
                AsciiDenyList::URL,
                Hyphens::Allow,
                DnsLength::Ignore,
            )
            .is_ok_and(|again| again == ascii)
}

/// Whether a label makes its host an address: digits, or hexadecimal ones after `0x`.
fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x");
    hexadecimal.map_or_else(
        || label.chars().all(|c| c.is_ascii_digit()),
        |digits| digits.chars().all(|c| c.is_ascii_hexdigit()),
    )
}

/// An IPv4 address of one to four numbers, of which the last fills what the others leave. `None` for what is out of
/// range, and for a leading zero: half of all programs read `010` as eight, the others as ten.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 || first.iter().any(|number| *number > 0xff) {
        return None;
    }
    let room = 8 * (4 - first.len());
    if *last >= 1 << room {
        return None;
    }
    let start = first.iter().fold(0, |sum, number| (sum << 8) | number);
    u32::try_from((start << room) | last).ok().map(Ipv4Addr::from_bits)
}

fn number(label: &str) -> Option<u64> {
    match label.strip_prefix("0x") {
        Some(digits) if !digits.is_empty() => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None if label.len() > 1 && label.starts_with('0') => None,
        None => label.parse().ok(),
    }
}

/// Whether a host, as [`canonical`] gives it, could be taken for another one by who reads it: letters of several
/// scripts in one label, or none but such as look like Latin ones.
pub(super) fn is_deceptive(host: &str) -> bool {
    if !host.split('.').any(|label| label.starts_with("xn--")) {
        return false;
    }
    let (unicode, fine) = Uts46::new().to_unicode(host.as_bytes(), AsciiDenyList::URL, Hyphens::Allow);
    // Under a top-level name of their own script such letters are at home.
    let at_home = unicode.rsplit('.').next().is_some_and(|last| !last.is_ascii());
    fine.is_err()
        || unicode
            .split('.')
            .any(|label| mixes_scripts(label) || (!at_home && imitates_latin(label)))
}

/// The scripts that are told apart. What is in none of them is [`Script::Other`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    /// Chinese, Japanese, Korean: written together, and with Latin letters.
    EastAsian,
    Other,
}

/// The script of a letter; `None` for digits, hyphens and marks, which go with every script.
fn script(c: char) -> Option<Script> {
    Some(match c {
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Script::Latin,
        '\u{250}'..='\u{2af}' | '\u{1d00}'..='\u{1dbf}' | '\u{a720}'..='\u{a7ff}' => Script::Other,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
        '\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{2de0}'..='\u{2dff}' | '\u{a640}'..='\u{a69f}' => {
            Script::Cyrillic
        }
        '\u{530}'..='\u{58f}' => Script::Armenian,
        '\u{1100}'..='\u{11ff}'
        | '\u{2e80}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Script::EastAsian,
        c if c.is_alphabetic() => Script::Other,
        _ => return None,
    })
}

fn mixes_scripts(label: &str) -> bool {
    let mut found: Option<Script> = None;
    for script in label.chars().filter_map(script) {
        match found {
            None => found = Some(script),
            Some(before) if before == script => {}
            Some(Script::Latin) if script == Script::EastAsian => found = Some(script),
            Some(Script::EastAsian) if script == Script::Latin => {}
            Some(_) => return true,
        }
    }
    // Phonetic letters are a script of their own here; small capitals among them pass for Latin ones.
    found == Some(Script::Other)
        && label
            .chars()
            .any(|c| matches!(c, '\u{250}'..='\u{2af}' | '\u{1d00}'..='\u{1dbf}'))
}

/// Letters of other scripts that pass for Latin ones.
const LOOKALIKES: &str = "асԁеёһіїјӏорԗԛѕԝхуъҽпгѵѡ\
    αικνρυωηοτϲ\
    ագզէլհյոսւօ";

fn imitates_latin(label: &str) -> bool {
    let mut letters = label.chars().filter(|c| c.is_alphabetic()).peekable();
    letters.peek().is_some() && letters.all(|c| !c.is_ascii() && LOOKALIKES.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_for_each_host() {
        for (host, expected) in [
            ("A.Test.", Some("a.test")),
            ("my_host", Some("my_host")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("BÜCHER.example", Some("xn--bcher-kva.example")),
            ("xn--bcher-kva.example", Some("xn--bcher-kva.example")),
            ("例え.jp", Some("xn--r8jz45g.jp")),
            // What one program maps and another does not.
            ("ｅxample.com", None),
            ("example。com", None),
            ("faß.de", None),
            ("a\u{200d}b.example", None),
            // No name behind it, or not its only spelling.
            ("xn--a.example", None),
            ("xn--abc-.example", None),
            ("127.0.0.1", Some("127.0.0.1")),
            ("127.1", Some("127.0.0.1")),
            ("2130706433", Some("127.0.0.1")),
            ("0x7f.0.0.1", Some("127.0.0.1")),
            ("0x7f000001", Some("127.0.0.1")),
            ("10.0.258", Some("10.0.1.2")),
            ("0177.0.0.1", None),
            ("127.0.0.010", None),
            ("1.2.3.4.5", None),
            ("256.1.1.1", None),
            ("4294967296", None),
            ("evil.0x", None),
            ("a.1", None),
            ("1.a", Some("1.a")),
            ("a..b", None),
            ("", None),
            (".", None),
            ("a%2eb", None),
        ] {
            assert_eq!(canonical(host).as_deref(), expected, "{host}");
        }
    }

    #[test]
    fn an_address_of_the_newer_kind_has_one_spelling_too() {
        for (text, expected) in [
            ("::1", Some("::1")),
            ("0:0:0:0:0:0:0:1", Some("::1")),
            ("2001:DB8::0", Some("2001:db8::")),
            ("::ffff:127.0.0.1", Some("127.0.0.1")),
            ("::ffff:7f00:1", Some("127.0.0.1")),
            ("fe80::1%eth0", None),
            ("1:2", None),
            ("", None),
        ] {
            assert_eq!(canonical_v6(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_name_that_looks_like_another_is_told() {
        for (name, expected) in [
            ("аpple.com", true),
            ("аррӏе.com", true),
            ("gοοgle.com", true),
            ("bücher.example", false),
            ("例え.jp", false),
            ("abc例え.jp", false),
            ("москва.рф", false),
            ("сосо.рф", false),
            ("москва.example", false),
            ("ελλάδα.gr", false),
            ("plain.example", false),
        ] {
            let host = canonical(name).unwrap();
            assert_eq!(is_deceptive(&host), expected, "{name} ({host})");
        }
    }
}
