//! Variables that do not enter a sandbox: those that look like secrets, by their names or by what they hold, name sockets outside, or
//! load code.
//!
//! Only names are told. A profile's list of what is passed on is stricter; this holds for the
//! variables that such a list lets through, and for a terminal, where the person's own variables are wanted.

use portcullis_policy::redact;

/// Most names that are told.
const MAX_TOLD: usize = 256;

/// Parts of names that hold secrets, wherever they stand.
const SECRET: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "ACCESSKEY",
    "PRIVATE_KEY",
    "PRIVATEKEY",
    "CREDENTIAL",
    "CONNECTION_STRING",
    "COOKIE",
    "BEARER",
];

/// Endings of names that hold secrets: `STRIPE_KEY`, `DB_PWD`, `NPM_CONFIG__AUTH`, `GH_PAT`, `DATABASE_URL`, whose address holds
/// a password.
const SECRET_ENDINGS: &[&str] = &[
    "_KEY",
    "_PWD",
    "_PASS",
    "_PWORD",
    "_TOK",
    "_AUTH",
    "_PAT",
    "_JWT",
    "_DSN",
    "_WEBHOOK",
    "_WEBHOOK_URL",
    "DATABASE_URL",
    "_DATABASE_URI",
    "REDIS_URL",
    "MONGODB_URI",
    "AMQP_URL",
];

/// Whole names of secrets that no part tells.
const SECRET_NAMES: &[&str] = &[
    "PGPASS",
    "MYSQL_PWD",
    "SSHPASS",
    "KUBECONFIG_DATA",
    "AUTHORIZATION",
    "AUTH",
    "PASS",
    "PWORD",
    "SESSION_ID",
    "JWT",
    "KEY",
    "PAT",
];

/// Beginnings of names of secrets: sessions of password managers (`OP_SESSION_my`, `BW_SESSION`).
const SECRET_BEGINNINGS: &[&str] = &["OP_SESSION", "BW_SESSION"];

/// Without these nothing works; what they hold is the names of folders and people.
const NEEDED: &[&str] = &[
    "PATH", "HOME", "PWD", "OLDPWD", "SHELL", "USER", "LOGNAME", "TERM", "LANG",
];

/// No known form of a key is shorter.
const SHORTEST_KEY: usize = 16;

/// Longest value that is looked at; what is longer is no secret's, and would take too long.
const MAX_VALUE: usize = 64 * 1024;

/// Names that look like secrets and are none; tools behave otherwise without them.
const FREE: &[&str] = &["TOKENIZERS_PARALLELISM", "OLDPWD", "GPG_KEY"];

/// Variables that name sockets or helpers outside (useless inside, and an invitation), load code, or are set anew.
const OUTSIDE: &[&str] = &[
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE",
    "TMUX",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "TMPDIR",
    "TMP",
    "TEMP",
];

/// Whether a name looks like that of a secret.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase().replace(['-', '.'], "_");
    if FREE.contains(&upper.as_str()) {
        return false;
    }
    SECRET.iter().any(|part| upper.contains(part))
        || SECRET_ENDINGS.iter().any(|ending| upper.ends_with(ending))
        || SECRET_NAMES.contains(&upper.as_str())
        || SECRET_BEGINNINGS.iter().any(|beginning| upper.starts_with(beginning))
}

/// Whether a variable holds a secret, whatever its name says: a key of a known form, or an address or settings with a password
/// in them (`http://user:password@proxy:3128`, `jdbc:x?password=y`).
#[must_use]
pub fn holds_secret(name: &str, value: &[u8]) -> bool {
    if NEEDED.contains(&name) || value.len() > MAX_VALUE || !may_hold_secret(value) {
        return false;
    }
    let text = String::from_utf8_lossy(value);
    redact::text(&text) != text
}

/// Of these, those whose value is the address of a socket.
const ADDRESSES: &[&str] = &[
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "CONTAINER_HOST",
];

/// Whether a variable says where one of these sockets is: by its path, or as `unix://` or `unix:path=` and that. Only then is
/// it of use inside.
#[must_use]
pub fn leads_to(name: &str, value: &[u8], sockets: &[String]) -> bool {
    let path = [&b"unix://"[..], b"unix:path="]
        .iter()
        .find_map(|start| value.strip_prefix(*start))
        .unwrap_or(value);
    // D-Bus: what follows a comma tells which server is to be there; another address would follow a semicolon.
    let path = path.split(|&byte| byte == b',').next().unwrap_or_default();
    ADDRESSES.contains(&name) && !value.contains(&b';') && sockets.iter().any(|socket| socket.as_bytes() == path)
}

/// Whether it is worth a closer look, which costs a launch milliseconds: a login in an address, a value with a name, or letters and
/// digits in one piece, as long as a key.
fn may_hold_secret(value: &[u8]) -> bool {
    let is_of_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_key = |piece: &[u8]| {
        piece.len() >= SHORTEST_KEY && piece.iter().any(u8::is_ascii_digit) && piece.iter().any(u8::is_ascii_alphabetic)
    };
    value.iter().any(|byte| matches!(byte, b'@' | b'=')) || value.split(|byte| !is_of_key(byte)).any(is_key)
}

/// Whether a variable means something outside only.
#[must_use]
pub fn is_of_outside(name: &str) -> bool {
    OUTSIDE.contains(&name)
}

/// Names to tell, each once and in order, so many that a report stays small. What a name holds beside letters, digits and `_`
/// is left out: it is printed on terminals.
#[must_use]
pub fn told<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let plain = |name: &str| -> String {
        let kept = name.chars().filter(|own| own.is_ascii_graphic());
        kept.take(128).collect()
    };
    let mut told: Vec<String> = names.map(plain).collect();
    told.sort();
    told.dedup();
    told.truncate(MAX_TOLD);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names_and_near_misses_are_free() {
        for (name, secret) in [
            ("GITHUB_TOKEN", true),
            ("githubToken", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("AWS_SESSION_TOKEN", true),
            ("STRIPE_KEY", true),
            ("npm_config__auth", true),
            ("DB_PWD", true),
            ("DATABASE_URL", true),
            ("PGPASSWORD", true),
            ("SENTRY_DSN", true),
            ("GOOGLE_APPLICATION_CREDENTIALS", true),
            ("MY-API.KEY", true),
            ("PWD", false),
            ("OLDPWD", false),
            ("PATH", false),
            ("KEYBOARD", false),
            ("TOKENIZERS_PARALLELISM", false),
            ("AUTHOR", false),
            ("COMPASS", false),
            ("HOME", false),
            ("PATTERN", false),
            ("PASS", true),
            ("PWORD", true),
            ("AUTH", true),
            ("HF_TOK", true),
            ("OP_SESSION_my", true),
            ("XDG_SESSION_ID", false),
        ] {
            assert_eq!(looks_secret(name), secret, "{name}");
        }
        assert!(is_of_outside("SSH_AUTH_SOCK") && !is_of_outside("SSH_AUTH"));
        let sockets = ["/run/a".to_owned()];
        for (name, value, leads) in [
            ("SSH_AUTH_SOCK", "/run/a", true),
            ("SSH_AUTH_SOCK", "/run/b", false),
            ("SSH_AUTH_SOCK", "/run/a/b", false),
            ("DOCKER_HOST", "unix:///run/a", true),
            ("DOCKER_HOST", "tcp:///run/a", false),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/a,guid=1", true),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/a;tcp:host=x", false),
            ("LD_PRELOAD", "/run/a", false),
            ("XDG_RUNTIME_DIR", "/run/a", false),
        ] {
            assert_eq!(leads_to(name, value.as_bytes(), &sockets), leads, "{name}={value}");
        }
    }

    #[test]
    fn secrets_are_known_by_what_a_variable_holds() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        for (name, value, secret) in [
            ("FOO", token.as_str(), true),
            ("HTTP_PROXY", "http://user:pw1234@proxy:3128", true),
            ("PIP_INDEX_URL", "https://user:tok@pypi.example/simple", true),
            ("JDBC_URL", "jdbc:postgresql://db/x?user=u&password=s3cr3t", true),
            ("HTTP_PROXY", "http://proxy:3128", false),
            ("PIP_INDEX_URL", "https://pypi.example/simple", false),
            ("GIT_AUTHOR_EMAIL", "someone@example.com", false),
            ("LS_COLORS", "rs=0:di=01;34:*.tar=01;31:*.pem=00;31", false),
            ("PS1", "\\u@\\h:\\w\\$ ", false),
            ("SSH_CONNECTION", "10.0.0.1 5000 10.0.0.2 22", false),
            ("RUSTFLAGS", "-C target-cpu=native --cfg tokio_unstable", false),
            ("JAVA_OPTS", "-Xmx2g -Dfile.encoding=UTF-8", false),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("PATH", "/usr/bin:/bin", false),
            ("GIT_COMMIT", "63fa81b1c0ffee63fa81b1c0ffee63fa81b1c0ff", false),
        ] {
            assert_eq!(holds_secret(name, value.as_bytes()), secret, "{name}={value}");
        }
    }

    #[test]
    fn what_is_told_is_short_and_plain() {
        assert_eq!(
            told(["B_TOKEN", "A\u{1b}[31m", "B_TOKEN"].into_iter()),
            ["A[31m", "B_TOKEN"]
        );
        let many: Vec<String> = (0..1_000).map(|number| format!("T{number}")).collect();
        assert_eq!(told(many.iter().map(String::as_str)).len(), MAX_TOLD);
    }
}
