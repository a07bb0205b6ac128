//! What well-known programs do with their arguments: a table.
//!
//! Each line says which options take a value, which of those name files, what the operands are, and which options make
//! the program run another one or write somewhere. A program that is not here is judged by its name and words alone.

use super::options::Spec;

/// What the operands of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// No files.
    Nothing,
    /// Files that it reads.
    Reads,
    /// Files that it reads; the working directory if there is none.
    ReadsHere,
    /// A pattern or program text, then files that it reads; no text if one of the options `-e`, `-f` and kin is given.
    TextThenReads,
    /// The same, and the working directory if there are no files.
    TextThenReadsHere,
    /// Files that it creates or changes.
    Writes,
    /// A mode or owner, then files that it changes.
    ModeThenWrites,
    /// Files that it removes; with `-r` all below.
    Deletes,
    /// Sources, then a target.
    Copies,
    /// The same, and the sources are gone.
    Moves,
    /// Targets of links, then the link.
    Links,
    /// The first is read, the second written: `uniq`, `xxd`.
    ReadsThenWrites,
    /// See `special.rs`.
    Special,
}

/// What a program is, if its options allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only looks.
    Looks,
    /// Only looks with certain arguments: `class.rs` knows which.
    LooksIf,
    /// Changes files as an editor would.
    Changes,
    /// Anything else.
    Other,
}

/// A program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) names: &'static [&'static str],
    pub(super) kind: Kind,
    pub(super) shape: Shape,
    /// Options with a value.
    pub(super) spec: Spec,
    /// Options whose value is a file that is read.
    pub(super) reads: &'static [&'static str],
    /// Options whose value is a file that is written.
    pub(super) writes: &'static [&'static str],
    /// Options that run another program, or write elsewhere. An allow rule never covers them.
    pub(super) escapes: &'static [&'static str],
}

const BASE: Program = Program {
    names: &[],
    kind: Kind::Other,
    shape: Shape::Nothing,
    spec: Spec { short: "", long: &[] },
    reads: &[],
    writes: &[],
    escapes: &[],
};

const fn looks(
    names: &'static [&'static str],
    shape: Shape,
    short: &'static str,
    long: &'static [&'static str],
) -> Program {
    Program {
        names,
        kind: Kind::Looks,
        shape,
        spec: Spec { short, long },
        ..BASE
    }
}

const fn other(
    names: &'static [&'static str],
    shape: Shape,
    short: &'static str,
    long: &'static [&'static str],
) -> Program {
    Program {
        kind: Kind::Other,
        ..looks(names, shape, short, long)
    }
}

const fn changes(
    names: &'static [&'static str],
    shape: Shape,
    short: &'static str,
    long: &'static [&'static str],
) -> Program {
    Program {
        kind: Kind::Changes,
        ..looks(names, shape, short, long)
    }
}

use Shape::{
    Copies, Deletes, Links, ModeThenWrites, Moves, Nothing, Reads, ReadsHere, ReadsThenWrites, Special, TextThenReads,
    TextThenReadsHere, Writes,
};

/// The table. Names on one line share everything.
const PROGRAMS: &[Program] = &[
    // Readers without an option that runs or writes anything.
    looks(&["cat", "rev"], Reads, "", &[]),
    looks(&["tac"], Reads, "s", &["separator"]),
    looks(
        &["nl"],
        Reads,
        "bdfhilnsvw",
        &[
            "body-numbering",
            "section-delimiter",
            "footer-numbering",
            "header-numbering",
            "line-increment",
            "join-blank-lines",
            "number-format",
            "number-separator",
            "starting-line-number",
            "number-width",
        ],
    ),
    looks(
        &["head", "tail"],
        Reads,
        "ncs",
        &["lines", "bytes", "pid", "sleep-interval", "max-unchanged-stats"],
    ),
    Program {
        reads: &["--files0-from"],
        ..looks(&["wc"], Reads, "", &["files0-from"])
    },
    looks(
        &["cut"],
        Reads,
        "bcdf",
        &["bytes", "characters", "delimiter", "fields", "output-delimiter"],
    ),
    looks(&["paste"], Reads, "d", &["delimiters"]),
    looks(&["comm"], Reads, "", &["output-delimiter"]),
    looks(
        &["column"],
        Reads,
        "cEHilNnoOpRrsTW",
        &[
            "columns",
            "output-width",
            "separator",
            "output-separator",
            "table-columns",
        ],
    ),
    looks(&["fold", "fmt"], Reads, "wpg", &["width", "prefix", "goal"]),
    looks(&["expand"], Reads, "t", &["tabs"]),
    looks(&["tsort"], Reads, "", &[]),
    looks(&["cmp"], Reads, "in", &["ignore-initial", "bytes"]),
    looks(&["base64", "base32"], Reads, "w", &["wrap"]),
    looks(
        &[
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "cksum",
            "sum",
            "b2sum",
        ],
        Reads,
        "al",
        &["algorithm", "length"],
    ),
    Program {
        reads: &["-f", "--format-file"],
        ..looks(
            &["hexdump", "hd"],
            Reads,
            "efns",
            &["format", "format-file", "length", "skip"],
        )
    },
    looks(
        &["od"],
        Reads,
        "AjNSt",
        &["address-radix", "skip-bytes", "read-bytes", "format"],
    ),
    looks(
        &["strings"],
        Reads,
        "nteTUs",
        &["bytes", "radix", "encoding", "target", "output-separator"],
    ),
    looks(
        &["stat", "readlink", "realpath"],
        Reads,
        "c",
        &["format", "printf", "relative-to", "relative-base"],
    ),
    looks(
        &["ls", "dir", "vdir"],
        ReadsHere,
        "ITw",
        &[
            "ignore",
            "hide",
            "tabsize",
            "width",
            "block-size",
            "time-style",
            "sort",
            "time",
            "indicator-style",
            "quoting-style",
        ],
    ),
    Program {
        reads: &["--files0-from", "-X", "--exclude-from"],
        ..looks(
            &["du"],
            ReadsHere,
            "BdtX",
            &[
                "block-size",
                "max-depth",
                "threshold",
                "exclude",
                "exclude-from",
                "files0-from",
                "time-style",
            ],
        )
    },
    looks(&["df"], Reads, "Btx", &["block-size", "type", "exclude-type"]),
    Program {
        reads: &["--from-file", "--to-file", "-X", "--exclude-from"],
        ..looks(
            &["diff"],
            Reads,
            "CUDIFLxXSW",
            &[
                "ifdef",
                "show-function-line",
                "ignore-matching-lines",
                "exclude",
                "exclude-from",
                "starting-file",
                "width",
                "label",
                "from-file",
                "to-file",
                "tabsize",
                "line-format",
            ],
        )
    },
    Program {
        reads: &["-f", "--file", "--exclude-from"],
        ..looks(
            &["grep", "egrep", "fgrep", "zgrep"],
            TextThenReadsHere,
            "efmABCdD",
            &[
                "regexp",
                "file",
                "max-count",
                "after-context",
                "before-context",
                "context",
                "directories",
                "devices",
                "include",
                "exclude",
                "exclude-from",
                "exclude-dir",
                "label",
                "binary-files",
            ],
        )
    },
    Program {
        reads: &["--slurpfile", "--rawfile", "-f", "--from-file"],
        ..looks(
            &["jq"],
            Special,
            "fL",
            &["from-file", "indent", "arg", "argjson", "slurpfile", "rawfile"],
        )
    },
    // Programs that read no files, or only talk about the machine.
    looks(
        &[
            "echo", "printf", "pwd", "whoami", "id", "uname", "free", "uptime", "ps", "pgrep", "nproc", "arch",
            "groups", "true", "false", ":", "sleep", "seq", "basename", "dirname", "expr", "which", "type", "test",
            "[", "cal", "locale", "tr", "lsof", "netstat", "wait", "exit", "return", "break", "continue", "jobs",
            "dirs", "help",
        ],
        Nothing,
        "",
        &[],
    ),
    // These have a form that writes or runs something.
    Program {
        escapes: &["-K", "--kill", "-H"],
        ..looks(&["ss"], Nothing, "", &[])
    },
    Program {
        kind: Kind::LooksIf,
        reads: &["-f", "--file", "-r", "--reference"],
        ..looks(
            &["date"],
            Nothing,
            "dfrs",
            &["date", "file", "reference", "set", "rfc-3339"],
        )
    },
    Program {
        kind: Kind::LooksIf,
        ..looks(&["hostname", "history", "set", "read"], Nothing, "", &[])
    },
    Program {
        escapes: &["-P", "-H", "-B", "-C", "--pager", "--html", "--config-file", "-X", "-T"],
        ..looks(
            &["man"],
            Nothing,
            "PCRLmMSserEpH",
            &[
                "pager",
                "config-file",
                "locale",
                "manpath",
                "systems",
                "sections",
                "extension",
                "preprocessor",
                "html",
            ],
        )
    },
    Program {
        reads: &["--files0-from"],
        writes: &["-o", "--output"],
        escapes: &["-o", "--output", "--compress-program", "-T", "--temporary-directory"],
        ..looks(
            &["sort"],
            Reads,
            "oktTS",
            &[
                "output",
                "key",
                "field-separator",
                "temporary-directory",
                "buffer-size",
                "compress-program",
                "batch-size",
                "parallel",
                "random-source",
                "files0-from",
                "sort",
            ],
        )
    },
    Program {
        writes: &["-o"],
        escapes: &["-o", "-R"],
        ..looks(
            &["tree"],
            ReadsHere,
            "oLPIHT",
            &["filelimit", "timefmt", "charset", "sort", "gitfile", "infofile"],
        )
    },
    Program {
        reads: &["-f", "--files-from", "-m", "--magic-file"],
        escapes: &["-C", "--compile", "-z", "-Z", "-m", "--magic-file", "--uncompress"],
        ..looks(
            &["file"],
            Reads,
            "fFmPe",
            &["files-from", "separator", "magic-file", "parameter", "exclude"],
        )
    },
    Program {
        reads: &["-f", "--file", "--ignore-file"],
        escapes: &["--pre", "--hostname-bin", "--search-zip", "-z"],
        ..looks(
            &["rg"],
            TextThenReadsHere,
            "efgmABCtTjMErd",
            &[
                "regexp",
                "file",
                "glob",
                "iglob",
                "max-count",
                "after-context",
                "before-context",
                "context",
                "type",
                "type-not",
                "type-add",
                "threads",
                "max-columns",
                "encoding",
                "replace",
                "max-depth",
                "pre",
                "pre-glob",
                "hostname-bin",
                "hyperlink-format",
                "ignore-file",
                "sort",
                "sortr",
                "color",
                "colors",
                "max-filesize",
                "engine",
                "path-separator",
                "field-match-separator",
            ],
        )
    },
    Program {
        kind: Kind::LooksIf,
        ..looks(&["find", "gfind"], Special, "", &[])
    },
    Program {
        kind: Kind::LooksIf,
        reads: &["-f", "--file"],
        ..looks(&["sed", "gsed"], Special, "efl", &["expression", "file", "line-length"])
    },
    Program {
        kind: Kind::LooksIf,
        ..looks(&["node", "nodejs", "python3", "docker"], Nothing, "", &[])
    },
    // Readers that are not known to only look.
    Program {
        reads: &["-f", "--file", "-i", "--include", "-E", "--exec"],
        escapes: &[
            "-f",
            "--file",
            "-l",
            "--load",
            "-i",
            "--include",
            "-E",
            "--exec",
            "-o",
            "-p",
            "-d",
        ],
        ..other(
            &["awk", "gawk", "mawk", "nawk"],
            TextThenReads,
            "fvFieEl",
            &["file", "assign", "field-separator", "include", "exec", "load", "source"],
        )
    },
    Program {
        writes: &["-o", "-O", "--log-file", "--LOG-FILE"],
        escapes: &["-o", "-O", "-k", "--lesskey-file", "--log-file", "--LOG-FILE"],
        ..other(
            &["less", "more", "most"],
            Reads,
            "bhjkoOpPtTxyzD",
            &["log-file", "LOG-FILE", "lesskey-file", "pattern", "tag"],
        )
    },
    // The second operand is written.
    Program {
        kind: Kind::LooksIf,
        ..looks(
            &["uniq"],
            ReadsThenWrites,
            "fsw",
            &["skip-fields", "skip-chars", "check-chars"],
        )
    },
    Program {
        kind: Kind::LooksIf,
        reads: &["--ignore-file", "-C", "--base-directory", "--search-path"],
        escapes: &["-x", "-X", "--exec", "--exec-batch"],
        ..looks(
            &["fd", "fdfind"],
            TextThenReadsHere,
            "dteEcSjoCxX",
            &[
                "max-depth",
                "min-depth",
                "exact-depth",
                "type",
                "extension",
                "exclude",
                "color",
                "size",
                "threads",
                "owner",
                "changed-within",
                "changed-before",
                "ignore-file",
                "base-directory",
                "search-path",
                "max-results",
                "path-separator",
                "format",
                "exec",
                "exec-batch",
            ],
        )
    },
    other(&["xxd"], ReadsThenWrites, "cglosRn", &[]),
    other(&["join"], Reads, "aejotv12", &[]),
    other(
        &["zcat", "gzcat", "bzcat", "xzcat", "zstdcat", "bat", "batcat", "view"],
        Reads,
        "",
        &[],
    ),
    Program {
        writes: &["-o", "--output"],
        ..other(&["gpg"], Nothing, "o", &["output"])
    },
    Program {
        writes: &["-o"],
        ..other(
            &[
                "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "rustc", "pandoc",
            ],
            Nothing,
            "o",
            &[],
        )
    },
    other(&["openssl"], Special, "", &[]),
    // Files made and changed as an editor would.
    changes(&["touch"], Writes, "drt", &["date", "reference", "time"]),
    changes(&["mkdir"], Writes, "m", &["mode"]),
    changes(&["cp"], Copies, "tS", &["target-directory", "suffix", "no-preserve"]),
    changes(&["mv"], Moves, "tS", &["target-directory", "suffix"]),
    changes(&["ln"], Links, "tS", &["target-directory", "suffix"]),
    changes(&["rm", "rmdir", "unlink"], Deletes, "", &[]),
    // Written, but with contents or rights that an editor would not give.
    other(&["tee"], Writes, "", &[]),
    other(&["truncate"], Writes, "sr", &["size", "reference"]),
    other(&["mkfifo", "mknod"], Writes, "m", &["mode"]),
    other(&["fallocate"], Writes, "lo", &["length", "offset"]),
    // Editors, be it with a person or a script, and what soaks up its input into a file.
    other(&["vim", "vi", "nvim", "gvim", "vimdiff"], Writes, "cSuUisTwW", &["cmd"]),
    other(&["ex"], Writes, "cSuUiTwW", &["cmd"]),
    other(&["ed", "red"], Writes, "p", &["prompt"]),
    other(
        &[
            "nano", "pico", "emacs", "micro", "joe", "kak", "hx", "sponge", "gedit", "kate",
        ],
        Writes,
        "",
        &[],
    ),
    Program {
        escapes: &["-c", "--command"],
        ..other(&["script"], Writes, "cEoT", &["command", "echo", "output-limit"])
    },
    Program {
        escapes: &["--filter"],
        ..other(
            &["split"],
            ReadsThenWrites,
            "abClntx",
            &[
                "suffix-length",
                "bytes",
                "line-bytes",
                "lines",
                "number",
                "separator",
                "additional-suffix",
                "filter",
            ],
        )
    },
    // What the text after `-e` does is not looked into; with `-i` the files are changed.
    other(&["perl", "ruby"], Special, "eEIMmrC", &[]),
    other(
        &["shred", "srm", "wipe", "trash", "trash-put", "gio"],
        Deletes,
        "ns",
        &["iterations", "size", "random-source"],
    ),
    Program {
        escapes: &["--strip-program"],
        ..other(
            &["install"],
            Copies,
            "tSmog",
            &["target-directory", "suffix", "mode", "owner", "group", "strip-program"],
        )
    },
    other(
        &["chmod", "chown", "chgrp", "chattr", "setfacl", "xattr"],
        ModeThenWrites,
        "",
        &["reference"],
    ),
    other(
        &[
            "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "dos2unix", "unix2dos",
        ],
        Writes,
        "S",
        &["suffix"],
    ),
    Program {
        writes: &["-o", "--output", "-r", "--reject-file", "-B"],
        reads: &["-i", "--input"],
        ..other(
            &["patch"],
            Special,
            "pidoBDFrVYz",
            &[
                "strip",
                "input",
                "directory",
                "output",
                "fuzz",
                "reject-file",
                "suffix",
                "prefix",
            ],
        )
    },
    other(&["dd"], Special, "", &[]),
    Program {
        escapes: &[
            "--to-command",
            "-I",
            "--use-compress-program",
            "--checkpoint-action",
            "--info-script",
            "-F",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
            "--absolute-names",
            "-P",
        ],
        reads: &["-T", "--files-from", "-X", "--exclude-from"],
        ..other(
            &["tar", "gtar", "bsdtar"],
            Special,
            "fCTXbLINVgKF",
            &[
                "file",
                "directory",
                "files-from",
                "exclude-from",
                "exclude",
                "blocking-factor",
                "transform",
                "strip-components",
                "to-command",
                "use-compress-program",
                "checkpoint-action",
                "info-script",
                "new-volume-script",
                "rsh-command",
                "rmt-command",
                "owner",
                "group",
                "mode",
                "mtime",
                "listed-incremental",
                "format",
                "suffix",
            ],
        )
    },
    other(&["unzip"], Special, "dxP", &[]),
    Program {
        escapes: &["-T", "-TT", "--unzip-command"],
        ..other(&["zip"], Special, "bntix", &["unzip-command"])
    },
    Program {
        escapes: &["-e", "--rsh", "--rsync-path"],
        reads: &["--files-from", "--exclude-from", "--include-from", "--password-file"],
        writes: &["--log-file", "--backup-dir", "--partial-dir", "--temp-dir", "-T"],
        ..other(
            &["rsync"],
            Special,
            "eTfBM",
            &[
                "rsh",
                "rsync-path",
                "files-from",
                "exclude-from",
                "include-from",
                "exclude",
                "include",
                "log-file",
                "backup-dir",
                "partial-dir",
                "temp-dir",
                "password-file",
                "filter",
                "bwlimit",
                "port",
                "timeout",
                "chmod",
                "chown",
                "suffix",
                "max-size",
                "min-size",
            ],
        )
    },
    // The network.
    Program {
        writes: &[
            "-o",
            "--output",
            "-D",
            "--dump-header",
            "-c",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--etag-save",
            "--hsts",
            "--alt-svc",
        ],
        reads: &[
            "-K",
            "--config",
            "-T",
            "--upload-file",
            "-E",
            "--cert",
            "--key",
            "--cacert",
            "--netrc-file",
            "--etag-compare",
        ],
        escapes: &["-K", "--config"],
        ..other(
            &["curl"],
            Special,
            "oAbcCdDeEFhHKmPQrtTuUwxXyYz",
            &[
                "output",
                "output-dir",
                "user-agent",
                "cookie",
                "cookie-jar",
                "continue-at",
                "data",
                "data-raw",
                "data-binary",
                "data-ascii",
                "data-urlencode",
                "json",
                "dump-header",
                "referer",
                "cert",
                "key",
                "cacert",
                "capath",
                "form",
                "form-string",
                "header",
                "config",
                "max-time",
                "connect-timeout",
                "quote",
                "range",
                "upload-file",
                "user",
                "proxy-user",
                "write-out",
                "proxy",
                "request",
                "url",
                "retry",
                "retry-delay",
                "retry-max-time",
                "interface",
                "resolve",
                "connect-to",
                "trace",
                "trace-ascii",
                "stderr",
                "netrc-file",
                "limit-rate",
                "max-redirs",
                "dns-servers",
                "unix-socket",
                "url-query",
                "etag-save",
                "etag-compare",
                "hsts",
                "alt-svc",
                "oauth2-bearer",
                "ciphers",
                "tls-max",
                "proto",
                "noproxy",
                "socks5",
                "socks5-hostname",
                "aws-sigv4",
            ],
        )
    },
    Program {
        writes: &[
            "-O",
            "--output-document",
            "-o",
            "--output-file",
            "-a",
            "--append-output",
            "--save-cookies",
            "--warc-file",
        ],
        reads: &[
            "-i",
            "--input-file",
            "--post-file",
            "--body-file",
            "--load-cookies",
            "--config",
        ],
        escapes: &["--use-askpass", "-e", "--execute", "--config"],
        ..other(
            &["wget"],
            Special,
            "OoaPitTwQUlARDIXeB",
            &[
                "output-document",
                "output-file",
                "append-output",
                "directory-prefix",
                "input-file",
                "tries",
                "timeout",
                "wait",
                "quota",
                "user-agent",
                "level",
                "accept",
                "reject",
                "domains",
                "execute",
                "header",
                "post-data",
                "post-file",
                "body-data",
                "body-file",
                "method",
                "user",
                "password",
                "load-cookies",
                "save-cookies",
                "base",
                "use-askpass",
                "config",
                "warc-file",
                "referer",
            ],
        )
    },
    Program {
        escapes: &["-o", "-F", "-J", "-S", "-D", "-c", "-P"],
        reads: &["-i"],
        ..other(&["scp", "sftp"], Special, "cDFiJloPSX", &[])
    },
    Program {
        escapes: &["-o", "-F", "-E", "-w", "-S", "-I", "-Q"],
        reads: &["-i"],
        writes: &["-E"],
        ..other(&["ssh"], Special, "BbcDEeFIiJLlmOopQRSWw", &[])
    },
    Program {
        escapes: &["-e", "-c", "--exec", "--sh-exec"],
        ..other(
            &["nc", "ncat", "netcat", "telnet", "socat"],
            Special,
            "ceiIOpPqsTVwWxX",
            &["exec", "sh-exec", "source-port", "proxy"],
        )
    },
    other(&["git"], Special, "", &[]),
];

/// The program of this name (without a folder).
pub(super) fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_stands_once() {
        let mut seen = HashSet::new();
        for name in PROGRAMS.iter().flat_map(|program| program.names) {
            assert!(seen.insert(name), "{name} twice");
        }
    }

    #[test]
    fn options_that_name_files_take_a_value() {
        for program in PROGRAMS.iter().filter(|program| !program.names.contains(&"jq")) {
            for option in program.reads.iter().chain(program.writes) {
                let known = match option.strip_prefix("--") {
                    Some(long) => program.spec.long.contains(&long),
                    None => program.spec.short.contains(option.trim_start_matches('-')),
                };
                assert!(known, "{:?} {option}", program.names);
            }
        }
    }
}
