//! Words, and what stands beside them: redirections, here-documents, substitutions.

use super::Maker;

impl Maker<'_> {
    pub(super) fn redirection(&mut self, depth: usize) -> String {
        self.tag("redirection");
        let file = match self.random.below(10) {
            0 => self.word(depth.saturating_sub(1)),
            1 => "../out".to_owned(),
            2 => "~/out".to_owned(),
            3 => "$HOME/out".to_owned(),
            4 => "sub/n\"e\"w".to_owned(),
            5 => "o{u,}t".to_owned(),
            6 => "$'o\\tt'".to_owned(),
            _ => self
                .random
                .pick(&["out", "a.txt", "sub/new", "/dev/null", "./x"])
                .to_owned(),
        };
        match self.random.below(22) {
            0 | 1 => format!("> {file}"),
            2 => format!(">{file}"),
            3 => format!(">> {file}"),
            4 => format!(">| {file}"),
            5 => format!("&> {file}"),
            6 => format!("&>> {file}"),
            7 => format!("2> {file}"),
            8 => format!("<> {file}"),
            9 => format!("< {}", self.random.pick(&["a.txt", "b.txt", "/dev/null"])),
            10 => "2>&1".to_owned(),
            11 => format!(">& {file}"),
            12 => format!("3> {file}"),
            13 => format!("{{fd}}> {file}"),
            14 => ">&2".to_owned(),
            15 => "<&-".to_owned(),
            16 => {
                self.tag("<<<");
                format!("<<< {}", self.word(depth.saturating_sub(1)))
            }
            17 => format!("<{}", self.process(depth)),
            _ => self.heredoc(depth),
        }
    }

    fn heredoc(&mut self, depth: usize) -> String {
        self.tag("here-document");
        let (written, end) = match self.random.below(8) {
            0 => ("'E'", "E"),
            1 => ("\"E\"", "E"),
            2 => ("\\E", "E"),
            3 => ("E\"O\"F", "EOF"),
            4 => ("'E F'", "E F"),
            _ => ("E", "E"),
        };
        let dash = if self.random.once_in(3) { "-" } else { "" };
        let tab = if dash.is_empty() {
            ""
        } else {
            self.random.pick(&["\t", "", "\t\t"])
        };
        let mut body = String::new();
        for _ in 0..self.random.below(3) {
            let part = match self.random.below(8) {
                0 => "it's \"text".to_owned(),
                1 => "rm b".to_owned(),
                2 => " E".to_owned(),
                3 => "E ".to_owned(),
                4 => "back\\".to_owned(),
                5 => "\\$(curl escaped)".to_owned(),
                _ => self.substitution_flat(depth.saturating_sub(1)),
            };
            body.push_str(tab);
            body.push_str(&part);
            body.push('\n');
        }
        body.push_str(tab);
        body.push_str(end);
        body.push('\n');
        self.heredocs.push(body);
        format!("<<{dash}{}{written}", self.random.pick(&["", " "]))
    }

    pub(super) fn process(&mut self, depth: usize) -> String {
        self.tag("process substitution");
        let sign = self.random.pick(&["<", "<", ">"]);
        format!("{sign}({})", self.closed(depth))
    }

    /// A list for inside parentheses.
    fn closed(&mut self, depth: usize) -> String {
        let outer = std::mem::take(&mut self.heredocs);
        let mut body = self.list(depth.saturating_sub(1).min(2));
        self.flush(&mut body);
        self.heredocs = outer;
        body
    }

    /// A substitution without a newline in it that could end a here-document.
    pub(super) fn substitution_flat(&mut self, depth: usize) -> String {
        let text = self.substitution(depth);
        if text.contains('\n') {
            "$(curl flat)".to_owned()
        } else {
            text
        }
    }

    pub(super) fn substitution(&mut self, depth: usize) -> String {
        self.tag("substitution");
        if depth == 0 || self.budget == 0 {
            return self
                .random
                .pick(&["$(curl s)", "`curl t`", "$(<a.txt)", "${ curl u; }"])
                .to_owned();
        }
        match self.random.below(4) {
            0 => {
                let body = self.closed(depth);
                if body.contains(['`', '\\']) {
                    format!("$({body})")
                } else {
                    format!("`{body}`")
                }
            }
            _ => {
                let space = self.random.pick(&["", " "]);
                format!("$({space}{}{space})", self.closed(depth))
            }
        }
    }

    pub(super) fn arithmetic(&mut self, depth: usize) -> String {
        self.tag("arithmetic");
        match self.random.below(8) {
            0 => "1 + 2".to_owned(),
            1 => format!("1 + {}", self.substitution(depth)),
            2 => "X + 1".to_owned(),
            3 => format!("a[{}]", self.substitution(depth)),
            4 => "i < 3 ? 1 : 2".to_owned(),
            5 => "X = 5, 1 << 2".to_owned(),
            6 => format!("\"{}\"", self.substitution(depth)),
            _ => format!("${{X:-{}}}", self.substitution(depth)),
        }
    }

    pub(super) fn parameter(&mut self, depth: usize) -> String {
        self.tag("parameter");
        let word = if depth > 0 {
            self.word(depth - 1)
        } else {
            "a".to_owned()
        };
        let operator = self.random.pick(&[
            ":-", "-", ":=", "=", ":+", "+", ":?", "#", "##", "%", "%%", "/a/", "//a/", "/", "^", ",,",
        ]);
        match self.random.below(16) {
            0 => "$X".to_owned(),
            1 => "${X}".to_owned(),
            2 => "${!X}".to_owned(),
            3 => "${#X}".to_owned(),
            4 => "${A[0]}".to_owned(),
            5 => "${A[@]}".to_owned(),
            6 => "$*".to_owned(),
            7 => "\"$@\"".to_owned(),
            8 => format!("${{A[{}]}}", self.substitution(depth)),
            9 => format!("${{X:{}}}", self.substitution(depth)),
            10 => "${X@P}".to_owned(),
            _ => format!("${{X{operator}{word}}}"),
        }
    }

    pub(super) fn word(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for _ in 0..=(self.random.below(5) / 3) {
            let kind = if self.odd(3) { self.random.below(27) } else { 99 };
            let piece = match kind {
                0 => "'single $(rm s)'".to_owned(),
                1 => "\"double\"".to_owned(),
                2 => "$'ansi\\n\\'x'".to_owned(),
                3 => "$\"local\"".to_owned(),
                4 => "\\$\\(rm\\)".to_owned(),
                5 => "\"a'b\\\"c\"".to_owned(),
                6 => {
                    self.tag("glob");
                    self.random
                        .pick(&["*.txt", "?.txt", "[ab].txt", "sub/*", "*", "[!a]*"])
                        .to_owned()
                }
                7 => {
                    self.tag("brace");
                    let inner = if depth > 0 {
                        self.word(depth - 1)
                    } else {
                        "b".to_owned()
                    };
                    match self.random.below(5) {
                        0 => "{1..3}".to_owned(),
                        1 => "{a..c}".to_owned(),
                        2 => format!("{{a,{inner}}}"),
                        3 => "{a,{b,c}}x".to_owned(),
                        _ => "{a}".to_owned(),
                    }
                }
                8 => self.random.pick(&["~", "~/x", "~+", "~root", "a~"]).to_owned(),
                9 | 10 => self.substitution(depth),
                11 => format!("\"{}\"", self.substitution(depth)),
                12 => format!("\"pre {} post\"", self.substitution(depth)),
                13 | 14 => self.parameter(depth),
                15 => {
                    let inner = self.parameter(depth);
                    if inner.contains('"') {
                        inner
                    } else {
                        format!("\"{inner}\"")
                    }
                }
                16 => format!("$(({}))", self.arithmetic(depth)),
                17 => format!("$[{}]", self.arithmetic(depth)),
                18 => self.process(depth),
                19 => "x=y".to_owned(),
                20 => "''".to_owned(),
                21 => "a\\\nb".to_owned(),
                22 => "a#b".to_owned(),
                23 => "{".to_owned(),
                24 => "-x".to_owned(),
                25 => self
                    .random
                    .pick(&[
                        "$'\\x41'",
                        "$'\\e'",
                        "$'\\cA'",
                        "$'\\101\\q'",
                        "$'\\U1F600'",
                        "$'a\\0b'",
                        "$'\\''",
                    ])
                    .to_owned(),
                26 => self
                    .random
                    .pick(&["!", "if", "done", "}", "]]", "[", "in", "time"])
                    .to_owned(),
                _ => self
                    .random
                    .pick(&["a", "b", "a.txt", "new", "sub", "-r", "x1"])
                    .to_owned(),
            };
            text.push_str(&piece);
        }
        text
    }
}
