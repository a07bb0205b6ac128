//! Dot commands of sqlite3's shell: which of them only print.
//!
//! What those run that do more is told by `analyse/told.rs`; SQL itself is the data base's business.

/// Commands of sqlite3's shell that print, or set how it prints; by their whole names, for a shorter one may be another's.
/// Missing are those that run programs (`.shell`, `.system`, `.excel`, `.www`, `.import |x`, `.output |x`, `.once |x`,
/// `.read |x`), load code (`.load`), read or write files (`.open`, `.save`, `.backup`, `.clone`, `.restore`, `.archive`,
/// `.log`, `.trace`, `.session`), or go elsewhere (`.cd`).
const DOT_COMMANDS: &[&str] = &[
    "bail",
    "changes",
    "check",
    "databases",
    "dbinfo",
    "dump",
    "echo",
    "eqp",
    "exit",
    "explain",
    "fullschema",
    "headers",
    "help",
    "indexes",
    "indices",
    "limit",
    "lint",
    "mode",
    "nullvalue",
    "print",
    "progress",
    "prompt",
    "quit",
    "recover",
    "schema",
    "separator",
    "sha3sum",
    "show",
    "stats",
    "tables",
    "timeout",
    "timer",
    "version",
    "width",
];

/// Whether a line is a dot command of sqlite3 that can do more than print.
pub(super) fn is_open(line: &str) -> bool {
    let Some(command) = line.trim_start().strip_prefix('.') else {
        return false;
    };
    let name: String = command.chars().take_while(char::is_ascii_alphanumeric).collect();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    begins && !DOT_COMMANDS.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::is_open;

    #[test]
    fn only_whole_names_of_what_prints_are_closed() {
        for (line, open) in [
            (".tables", false),
            (".schema users", false),
            ("select 1", false),
            ("./x.db", false),
            (".shell id", true),
            (".sh id", true),
            (" .system id", true),
            (".t", true),
            (".output x", true),
        ] {
            assert_eq!(is_open(line), open, "{line}");
        }
    }
}
