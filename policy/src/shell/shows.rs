//! Commands of which the whole form shows that they only look: a version that is asked for, the contents of an archive.
//!
//! What a program does with options at large is in the tables; here stands what is harmless in one form alone.

use super::Word;

/// Programs that only print their version when asked for it: neither a file of the project nor one of the person says what runs
/// then. Those that start what a project names (`rustc`, `yarn`, `mvn`, `go`) are not among them.
const SHOW_VERSION: &[&str] = &[
    "aws",
    "black",
    "cc",
    "clang",
    "clang++",
    "cmake",
    "docker",
    "g++",
    "gcc",
    "gh",
    "helm",
    "java",
    "javac",
    "jq",
    "kubectl",
    "make",
    "ninja",
    "node",
    "npm",
    "perl",
    "php",
    "pip",
    "pip3",
    "podman",
    "python",
    "python3",
    "ruby",
    "ruff",
    "terraform",
    "uv",
];

/// Commands of which the whole form shows that they only look.
pub(super) fn only_shows(name: &str, arguments: &[Word]) -> bool {
    let Some(texts) = arguments.iter().map(Word::literal).collect::<Option<Vec<_>>>() else {
        return false;
    };
    match (name, texts.as_slice()) {
        ("npm" | "node" | "php" | "ruby", ["-v"]) | ("python" | "python3" | "pip" | "pip3", ["-V"]) => true,
        ("java" | "javac", ["-version"]) => true,
        (_, ["--version"]) => SHOW_VERSION.contains(&name),
        ("unzip", ["-l" | "-t" | "-v" | "-Z" | "-Z1" | "-lv", archive]) => !archive.starts_with('-'),
        ("tar" | "gtar" | "bsdtar", [mode, rest @ ..]) => {
            let letters = mode.strip_prefix('-').unwrap_or(mode);
            letters.contains('t')
                && letters.ends_with('f')
                && letters.chars().all(|c| "tzjJvf".contains(c))
                && !rest.is_empty()
                && rest.iter().all(|text| !text.starts_with('-'))
                // An archive of another machine is fetched.
                && !rest.iter().any(|text| text.contains(':'))
        }
        _ => false,
    }
}
