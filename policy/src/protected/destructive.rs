//! Commands that destroy whatever they are pointed at: file systems, disks, schedules, the machine's state; and lines that
//! multiply themselves until nothing else runs.
//!
//! Data: program, condition, reason. They ask in every mode and no allow rule lifts that. Deletions of critical paths are
//! not here, for they are judged by path.

use crate::shell::{Analysis, Command, OpaqueReason, Word};

/// When a program destroys.
#[derive(Clone, Copy, Debug)]
enum When {
    /// With any arguments but a request for help.
    Always,
    /// Unless one of these words is there.
    Unless(&'static [&'static str]),
    /// When one of these words is there; a single letter after one dash also inside a cluster.
    With(&'static [&'static str]),
    /// When it is pointed at a device, or at something only known at run time, and none of these words is there.
    OnDevice(&'static [&'static str]),
}

const DISK: &str = "it overwrites a disk or file system";
const SYSTEM: &str = "it stops the machine, and all that guards it";
const EVERYBODY: &str = "it takes away accounts with what they own";
const SCHEDULE: &str = "it deletes a whole schedule of jobs";

/// Programs; a final `*` stands for any ending.
const DESTRUCTIVE: &[(&str, When, &str)] = &[
    ("badblocks", When::With(&["-w"]), DISK),
    ("blkdiscard", When::Always, DISK),
    ("cfdisk", When::OnDevice(&[]), DISK),
    (
        "cryptsetup",
        When::With(&["luksFormat", "luksErase", "erase", "reencrypt"]),
        DISK,
    ),
    (
        "diskutil",
        When::With(&[
            "eraseDisk",
            "eraseVolume",
            "partitionDisk",
            "zeroDisk",
            "randomDisk",
            "secureErase",
            "reformat",
        ]),
        DISK,
    ),
    ("fdisk", When::OnDevice(&["-l", "--list"]), DISK),
    ("gdisk", When::OnDevice(&["-l"]), DISK),
    (
        "hdparm",
        When::With(&[
            "--security-erase",
            "--security-erase-enhanced",
            "--trim-sector-ranges",
            "--write-sector",
            "--make-bad-sector",
            "--security-set-pass",
        ]),
        DISK,
    ),
    ("lvremove", When::Always, DISK),
    ("mdadm", When::With(&["--zero-superblock", "--create", "-C"]), DISK),
    ("mkfs", When::OnDevice(&[]), DISK),
    ("mkfs.*", When::OnDevice(&[]), DISK),
    ("mke2fs", When::OnDevice(&["-n"]), DISK),
    ("mkswap", When::OnDevice(&[]), DISK),
    ("newfs*", When::OnDevice(&["-N"]), DISK),
    ("nvme", When::With(&["format", "sanitize", "write-zeroes"]), DISK),
    ("parted", When::OnDevice(&["-l", "--list", "print"]), DISK),
    ("pvremove", When::Always, DISK),
    ("sfdisk", When::OnDevice(&["-l", "--list", "-d", "--dump"]), DISK),
    ("sgdisk", When::OnDevice(&["-p", "--print", "-v", "--verify"]), DISK),
    ("vgremove", When::Always, DISK),
    ("wipefs", When::With(&["-a", "--all", "-o", "--offset"]), DISK),
    ("zfs", When::With(&["destroy"]), DISK),
    ("zpool", When::With(&["destroy", "labelclear"]), DISK),
    ("crontab", When::With(&["-r"]), SCHEDULE),
    ("atrm", When::Always, SCHEDULE),
    (
        "deluser",
        When::With(&["--remove-home", "--remove-all-files"]),
        EVERYBODY,
    ),
    ("userdel", When::With(&["-r", "--remove"]), EVERYBODY),
    ("halt", When::Always, SYSTEM),
    ("init", When::With(&["0", "6"]), SYSTEM),
    ("telinit", When::With(&["0", "6"]), SYSTEM),
    ("poweroff", When::Always, SYSTEM),
    ("reboot", When::Always, SYSTEM),
    ("shutdown", When::Unless(&["-c"]), SYSTEM),
    (
        "systemctl",
        When::With(&["poweroff", "reboot", "halt", "kexec", "rescue", "emergency"]),
        SYSTEM,
    ),
];

/// Why a command destroys what it is pointed at, if it does.
pub(crate) fn destroys(command: &Command) -> Option<&'static str> {
    let program = command.program_name()?;
    let named = |name: &str| match name.strip_suffix('*') {
        Some(beginning) => program.starts_with(beginning),
        None => program == name,
    };
    // Each command is looked for here, and hardly one begins as an entry does.
    let first = program.as_bytes().first();
    let mut alike = DESTRUCTIVE.iter().filter(|(name, ..)| name.as_bytes().first() == first);
    let (_, when, reason) = alike.find(|(name, ..)| named(name))?;
    let arguments = command.words.get(1..).unwrap_or_default();
    let has = |sought: &[&str]| {
        arguments
            .iter()
            .filter_map(Word::literal)
            .any(|word| is_one_of(word, sought))
    };
    let applies = match when {
        When::Always => !has(&["--help", "--version"]),
        When::Unless(words) => !has(&["--help", "--version"]) && !has(words),
        When::With(words) => has(words),
        When::OnDevice(words) => {
            let on_device = arguments.iter().any(|word| match word {
                Word::Literal(text) => text.starts_with("/dev/"),
                Word::Dynamic { .. } => true,
            });
            on_device && !has(words)
        }
    };
    applies.then_some(*reason)
}

/// Whether a word is one of some; `-r` is also in `-ir`, and `--all` in `--all=x`.
fn is_one_of(word: &str, sought: &[&str]) -> bool {
    sought.iter().any(|sought| {
        let letter = sought.strip_prefix('-').filter(|letter| letter.len() == 1);
        let clustered = || {
            let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            letter
                .zip(letters)
                .is_some_and(|(letter, letters)| letters.contains(letter))
        };
        word == *sought || (sought.starts_with("--") && word.split('=').next() == Some(*sought)) || clustered()
    })
}

/// Most functions of a line that are compared with each other.
const MAX_FUNCTIONS: usize = 64;

/// Whether a function of the line starts itself, by itself or through others, in a pipe or in the background:
/// `:(){ :|:& };:`.
///
/// By words: the body is what stands between the brackets after the name, wherever in the line (scripts of `sh -c` and
/// `eval` stand in it too). A function that only calls itself in turn is ordinary recursion.
pub(crate) fn forks_without_end(line: &str, analysis: &Analysis) -> bool {
    // Those that the analysis does not follow, and those whose bodies it has looked into.
    let opaque = analysis
        .opaque
        .iter()
        .filter(|opaque| opaque.reason == OpaqueReason::Redefinition)
        .map(|opaque| opaque.text.as_str());
    let followed = analysis
        .commands
        .iter()
        .flat_map(|command| &command.seen_through)
        .map(|context| context.label());
    let mut functions: Vec<&str> = Vec::new();
    for name in opaque.chain(followed).filter_map(|text| text.strip_suffix("()")) {
        if functions.len() < MAX_FUNCTIONS && !functions.contains(&name) {
            functions.push(name);
        }
    }
    let calls: Vec<Vec<(usize, bool)>> = functions
        .iter()
        .map(|name| body(line, name).map_or_else(Vec::new, |body| calls(body, &functions)))
        .collect();
    (0..functions.len()).any(|start| {
        let forks = calls.get(start).into_iter().flatten().filter(|(_, forks)| *forks);
        forks.into_iter().any(|(next, _)| reaches(&calls, *next, start))
    })
}

fn reaches(calls: &[Vec<(usize, bool)>], from: usize, to: usize) -> bool {
    let mut seen = vec![from];
    let mut at = 0;
    while let Some(here) = seen.get(at).copied() {
        if here == to {
            return true;
        }
        for (next, _) in calls.get(here).into_iter().flatten() {
            if !seen.contains(next) {
                seen.push(*next);
            }
        }
        at += 1;
    }
    false
}

/// What stands between the brackets of a function's definition.
fn body<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    line.match_indices(name).find_map(|(at, found)| {
        let before = line.get(..at)?.trim_end();
        let after = line.get(at + found.len()..)?.trim_start();
        let parentheses = after
            .strip_prefix('(')
            .and_then(|rest| rest.trim_start().strip_prefix(')'));
        let rest = match parentheses {
            Some(rest) => rest.trim_start(),
            None if before.ends_with("function") => after,
            None => return None,
        };
        let open = rest.chars().next().filter(|c| matches!(c, '{' | '('))?;
        let close = if open == '{' { '}' } else { ')' };
        let mut depth = 0_usize;
        let end = rest.char_indices().find_map(|(at, c)| {
            depth += usize::from(c == open);
            depth = depth.saturating_sub(usize::from(c == close));
            (c == close && depth == 0).then_some(at)
        });
        rest.get(1..end.unwrap_or(rest.len()))
    })
}

/// Which functions a body calls, and whether beside itself: in a pipe or in the background.
fn calls(body: &str, functions: &[&str]) -> Vec<(usize, bool)> {
    let mut out = Vec::new();
    let mut piped = false;
    let mut rest = body;
    loop {
        let end = rest.find(['|', '&', ';', '\n', '{', '}', '(', ')']);
        let (command, after) = rest.split_at(end.unwrap_or(rest.len()));
        let separator: String = after.chars().take_while(|c| matches!(c, '|' | '&')).collect();
        let beside = matches!(separator.as_str(), "|" | "&" | "|&" | "&|");
        let word = command
            .split_whitespace()
            .find(|word| !matches!(*word, "if" | "then" | "else" | "do" | "!" | "time"));
        let word = word.map(|word| word.trim_matches(['\'', '"', '\\']));
        if let Some(found) = word.and_then(|word| functions.iter().position(|name| *name == word)) {
            out.push((found, beside || piped));
        }
        piped = separator == "|" || separator == "|&";
        let skip = separator.len().max(after.chars().next().map_or(0, char::len_utf8));
        match after.get(skip..) {
            Some(next) if skip > 0 => rest = next,
            _ => return out,
        }
    }
}
