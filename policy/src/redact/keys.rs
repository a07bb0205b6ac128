//! Whether a name says that what it names is secret.
//!
//! Names are taken apart into words (`DB_PASSWORD`, `dbPassword`, `db-password`), so that `token` is one and `tokenizer`
//! is none, and so that `password-file`, which names a place, is none either.

use serde_json::Value;

/// Last words that turn a secret's name into the name of something about it.
const ABOUT: &[&str] = &[
    "age",
    "at",
    "count",
    "dir",
    "directory",
    "enabled",
    "endpoint",
    "env",
    "expiration",
    "expires",
    "expiry",
    "field",
    "file",
    "format",
    "id",
    "in",
    "label",
    "len",
    "length",
    "lifetime",
    "limit",
    "manager",
    "max",
    "min",
    "mode",
    "name",
    "names",
    "path",
    "policy",
    "prompt",
    "provider",
    "ref",
    "required",
    "rotation",
    "rules",
    "size",
    "stdin",
    "store",
    "strength",
    "ttl",
    "type",
    "uri",
    "url",
    "usage",
    "version",
    "through",
];

/// Words before `key` that make it secret.
const SECRET_KEYS: &[&str] = &[
    "access",
    "account",
    "api",
    "app",
    "auth",
    "client",
    "deploy",
    "encryption",
    "master",
    "private",
    "secret",
    "shared",
    "signing",
    "storage",
    "subscription",
];

/// The kind of secret that a variable, field or option of this name holds.
pub(super) fn kind_of(name: &str) -> Option<&'static str> {
    let words = words(name);
    let last = words.last()?;
    if ABOUT.contains(&last.as_str()) || words.first().is_some_and(|first| first == "no") {
        return None;
    }
    let joined = words.concat();
    let holds = |part: &str| joined.contains(part);
    let is_password = holds("password")
        || holds("passwd")
        || holds("passphrase")
        || last == "passcode"
        || last == "pass"
        || last == "pwd" && name != "PWD"
        || last.ends_with("pwd") && last != "pwd" && last != "oldpwd";
    if is_password {
        return Some("password");
    }
    if words.iter().any(|word| word.ends_with("token") || word == "tokens") {
        return Some("token");
    }
    let names_key = |before: &&str| joined.contains(&format!("{before}key"));
    if SECRET_KEYS.iter().any(names_key) && !holds("keyboard") {
        return Some("api-key");
    }
    let is_secret = holds("credential") || holds("secret") && !holds("secretar");
    is_secret.then_some("secret")
}

/// The same for an option such as `--password`, alone, without a value.
pub(super) fn kind_of_option(text: &str) -> Option<&'static str> {
    let name = text.strip_prefix('-')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.len() > 64 || !name.chars().all(plain) {
        return None;
    }
    kind_of(name)
}

/// The same for a key of a JSON object, where names of headers stand for their contents too. Numbers of tokens are
/// counts, as `max_tokens`.
pub(super) fn kind_of_json_key(key: &str, value: &Value) -> Option<&'static str> {
    match key.to_ascii_lowercase().as_str() {
        "authorization" | "proxy-authorization" => return Some("authorization"),
        "cookie" | "set-cookie" => return Some("cookie"),
        "auth" | "_auth" if value.is_string() => return Some("authorization"),
        _ => {}
    }
    kind_of(key).filter(|_| !(value.is_number() && is_plural(key)))
}

/// Whether a name speaks of several tokens, as `max_tokens`: with a number behind it a count.
pub(super) fn is_plural(name: &str) -> bool {
    words(name).iter().any(|word| word == "tokens")
}

/// The words of a name in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        if !c.is_ascii_alphanumeric() {
            words.extend(Some(std::mem::take(&mut word)));
        } else {
            let next_is_lower = rest.peek().is_some_and(char::is_ascii_lowercase);
            let begins = c.is_ascii_uppercase()
                && before.is_some_and(|before| {
                    before.is_ascii_lowercase()
                        || before.is_ascii_digit()
                        || (before.is_ascii_uppercase() && next_is_lower)
                });
            if begins {
                words.extend(Some(std::mem::take(&mut word)));
            }
            word.push(c.to_ascii_lowercase());
        }
        before = Some(c);
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}
