//! JSON with comments and trailing commas, as editors write it, made plain JSON.

/// The same text with blanks in place of comments, and without commas before a closing bracket.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Where in `out` the last comma stands, if nothing but blanks followed it.
    let mut comma: Option<usize> = None;
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text).chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => {
                comma = None;
                out.push(c);
                while let Some(c) = rest.next() {
                    out.push(c);
                    match c {
                        '\\' => out.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if rest.peek() == Some(&'/') => {
                for c in rest.by_ref() {
                    if c == '\n' {
                        out.push(c);
                        break;
                    }
                }
            }
            '/' if rest.peek() == Some(&'*') => {
                rest.next();
                out.push(' ');
                let mut star = false;
                let mut closed = false;
                for c in rest.by_ref() {
                    if star && c == '/' {
                        closed = true;
                        break;
                    }
                    star = c == '*';
                }
                if !closed {
                    // Not a comment: whoever parses it has to fail.
                    out.push('/');
                }
            }
            ',' => {
                comma = Some(out.len());
                out.push(c);
            }
            '}' | ']' => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
                out.push(c);
            }
            c => {
                if !c.is_whitespace() {
                    comma = None;
                }
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::plain;
    use serde_json::{Value, json};

    #[test]
    fn comments_and_trailing_commas_go_and_strings_stay() {
        for (text, expected) in [
            ("{\"a\": 1, // b\n}", json!({"a": 1})),
            ("\u{feff}{/* x */ \"a\": [1, 2,],}", json!({"a": [1, 2]})),
            ("{\"a\": \"https://x/*y*/\\\",}\"}", json!({"a": "https://x/*y*/\",}"})),
            ("{\"a\": \"b\" /* , */ }", json!({"a": "b"})),
            ("[1, /* x */ ]", json!([1])),
        ] {
            let read: Value = serde_json::from_str(&plain(text)).unwrap();
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in ["{,}x", "[,,]", "{\"a\": 1 /* b", "{\"a\" / 1}", "\"a", "[1,,]"] {
            assert!(serde_json::from_str::<Value>(&plain(text)).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn plain_json_keeps_its_meaning(text in "[\\[\\]{}\",:/*a1 \\\\\n]{0,30}") {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                let again: Value = serde_json::from_str(&plain(&text)).unwrap();
                proptest::prop_assert_eq!(again, value);
            }
        }
    }
}
