//! Lines from bash's grammar: every construct in every position, with all ways to quote and to hide a program's name.

mod constructs;
mod words;

use std::collections::BTreeSet;

use crate::random::Random;

/// Programs that the lines name. All exist as stubs.
pub const PROGRAMS: &[&str] = &[
    "curl", "git", "ls", "rm", "cat", "npm", "make", "nope", "touch", "tee", "cp", "wget",
];

/// A line, and which constructs it holds.
#[derive(Debug)]
pub struct Generated {
    /// The text.
    pub line: String,
    /// Names of the constructs.
    pub tags: BTreeSet<&'static str>,
}

/// Makes a line.
pub fn line(random: &mut Random) -> Generated {
    let mut maker = Maker {
        random,
        tags: BTreeSet::new(),
        heredocs: Vec::new(),
        budget: 40,
        spice: 0,
    };
    // Most lines hold few odd things, because one that is opaque hides what else is wrong.
    let most = if maker.random.once_in(8) { 12 } else { 4 };
    maker.spice = 1 + maker.random.below(most);
    let depth = 1 + maker.random.below(4);
    let mut line = maker.list(depth);
    maker.flush(&mut line);
    Generated { line, tags: maker.tags }
}

struct Maker<'r> {
    random: &'r mut Random,
    tags: BTreeSet<&'static str>,
    /// Bodies of here-documents that start at the next newline.
    heredocs: Vec<String>,
    /// Commands left.
    budget: usize,
    /// Odd things left.
    spice: usize,
}

impl Maker<'_> {
    fn tag(&mut self, tag: &'static str) {
        self.tags.insert(tag);
    }

    /// Whether something odd may come here; counts it.
    fn odd(&mut self, once_in: usize) -> bool {
        let odd = self.spice > 0 && self.random.once_in(once_in);
        self.spice -= usize::from(odd);
        odd
    }

    /// Ends the line, if a here-document waits for that.
    fn flush(&mut self, text: &mut String) {
        if !self.heredocs.is_empty() {
            text.push('\n');
            for body in self.heredocs.drain(..) {
                text.push_str(&body);
            }
        }
    }

    fn blank(&mut self) -> &'static str {
        self.random
            .pick(&[" ", " ", " ", " ", " ", " ", "  ", "\t", " \\\n", "\\\n "])
    }

    fn list(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for number in 0..=self.random.below(3) {
            if number > 0 {
                let join = self.random.pick(&[
                    "; ",
                    " && ",
                    " || ",
                    "\n",
                    " & ",
                    ";",
                    "&",
                    "&&",
                    "||",
                    " ;\n",
                    " && \n",
                    " # note\n",
                ]);
                if join.contains('\n') {
                    if join.starts_with(" &&") {
                        text.push_str(" &&");
                    } else if join.contains('#') {
                        self.tag("comment");
                        text.push_str(" # it's \"a `note");
                    }
                    if self.heredocs.is_empty() {
                        text.push('\n');
                    }
                    self.flush(&mut text);
                } else {
                    text.push_str(join);
                }
            }
            text.push_str(&self.pipeline(depth));
        }
        text
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let mut text = String::new();
        match if self.random.once_in(8) && self.odd(1) {
            self.random.below(3)
        } else {
            3
        } {
            0 => text.push_str("! "),
            1 => {
                self.tag("time");
                text.push_str(self.random.pick(&["time ", "time -p ", "time -- ", "! time "]));
            }
            2 => {
                self.tag("coproc");
                text.push_str(self.random.pick(&["coproc ", "coproc NAME "]));
                if text.ends_with("NAME ") {
                    let body = self.list(depth.saturating_sub(1));
                    return format!("{text}{{ {body}{}}}", self.end(&body));
                }
            }
            _ => {}
        }
        for number in 0..=(self.random.below(5) / 3) {
            if number > 0 {
                self.tag("pipe");
                text.push_str(self.random.pick(&[" | ", "|", " |& ", " |\n"]).trim_end_matches('\n'));
            }
            text.push_str(&self.command(depth));
        }
        text
    }

    /// What stands between a list and a closing word.
    fn end(&mut self, body: &str) -> String {
        let mut end = String::new();
        if self.heredocs.is_empty() {
            end.push_str(if body.ends_with('&') {
                " "
            } else {
                self.random.pick(&["; ", "\n", ";"])
            });
        }
        self.flush(&mut end);
        end
    }

    fn body(&mut self, depth: usize) -> String {
        let body = self.list(depth.saturating_sub(1));
        let end = self.end(&body);
        body + &end
    }

    fn command(&mut self, depth: usize) -> String {
        self.budget = self.budget.saturating_sub(1);
        if depth == 0 || self.budget == 0 || !self.odd(2) {
            return self.simple(depth);
        }
        let mut text = match self.random.below(20) {
            0 => {
                self.tag("subshell");
                let body = self.list(depth - 1);
                let mut end = String::new();
                self.flush(&mut end);
                format!("({body}{end})")
            }
            1 => {
                self.tag("group");
                format!("{{ {}}}", self.body(depth))
            }
            2 => {
                self.tag("if");
                let mut text = format!("if {}then {}", self.body(depth), self.body(depth));
                if self.random.once_in(3) {
                    text += &format!("elif {}then {}", self.body(depth), self.body(depth));
                }
                if self.random.once_in(2) {
                    text += &format!("else {}", self.body(depth));
                }
                text + "fi"
            }
            3 => {
                self.tag("while");
                let word = self.random.pick(&["while", "until"]);
                format!("{word} {}do {}break; done", self.body(depth), self.body(depth))
            }
            4 => {
                self.tag("for");
                let words: Vec<String> = (0..=self.random.below(3)).map(|_| self.word(depth - 1)).collect();
                let name = self.random.pick(&["X", "i", "Y"]);
                match self.random.below(4) {
                    0 => format!("for {name} do {}done", self.body(depth)),
                    1 => format!("for {name} in {}; {{ {}}}", words.join(" "), self.body(depth)),
                    2 => format!("for {name}\nin {}\ndo {}done", words.join(" "), self.body(depth)),
                    _ => format!("for {name} in {}; do {}done", words.join(" "), self.body(depth)),
                }
            }
            5 => {
                self.tag("for((");
                let part = self.substitution(depth - 1);
                format!("for ((i=0; i<1; i++)); do echo {part}; {}done", self.body(depth))
            }
            6 => {
                self.tag("case");
                let subject = self.word(depth - 1);
                let open = self.random.pick(&["", "("]);
                let pattern = if self.random.once_in(2) {
                    "*".to_owned()
                } else {
                    self.word(depth - 1)
                };
                let end = self.random.pick(&[";;", ";&", ";;&"]);
                format!(
                    "case {subject} in {open}{pattern}) {}{end} a|b) {};; *) ;; esac",
                    self.list_flat(depth),
                    self.list_flat(depth)
                )
            }
            7 => {
                self.tag("function");
                let name = self.random.pick(&["f", "ls", "curl", "g"]);
                // A function that calls itself would not end.
                let body = self.body(depth);
                let body = if name.len() > 1 {
                    body.replace(name, "npm")
                } else {
                    body
                };
                let head = match self.random.below(3) {
                    0 => format!("{name}() "),
                    1 => format!("function {name} "),
                    _ => format!("function {name}() "),
                };
                let form = if self.random.once_in(3) {
                    format!("{head}( {body})")
                } else {
                    format!("{head}{{ {body}}}")
                };
                let call = self.word(0);
                format!("{form}; {name} {call}")
            }
            8 => {
                self.tag("[[");
                let (one, two) = (self.word(depth - 1), self.word(depth - 1));
                let operator = self
                    .random
                    .pick(&["==", "=", "!=", "=~", "-eq", "<", ">", "-nt", "-lt"]);
                let prefix = self.random.pick(&["", "! ", "-n a && ", "( a ) && ", "-z "]);
                if prefix == "-z " {
                    format!("[[ -z {one} ]]")
                } else {
                    format!("[[ {prefix}{one} {operator} {two} ]]")
                }
            }
            9 => {
                self.tag("((");
                let inner = self.arithmetic(depth - 1);
                format!("(({inner}))")
            }
            10 => {
                self.tag("select");
                format!("select X in a b; do {}break; done", self.body(depth))
            }
            11..=16 => return self.construct(depth),
            _ => return self.simple(depth),
        };
        if self.random.once_in(5) {
            text.push(' ');
            text.push_str(&self.redirection(depth));
        }
        text
    }

    /// A list whose here-documents end before what follows.
    fn list_flat(&mut self, depth: usize) -> String {
        let mut body = self.list(depth.saturating_sub(1));
        self.flush(&mut body);
        body
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut parts: Vec<String> = Vec::new();
        if self.odd(8) {
            self.tag("assignment");
            parts.push(self.assignment(depth));
        }
        if self.odd(16) {
            parts.push(self.redirection(depth));
        }
        match if self.odd(3) { self.random.below(4) } else { 4 } {
            0 if !parts.is_empty() => {}
            0 | 1 => parts.push(self.builtin(depth)),
            2 | 3 => parts.push(self.wrapper(depth)),
            _ => {
                parts.push(self.program());
                for _ in 0..self.random.below(4) {
                    parts.push(self.word(depth.saturating_sub(1)));
                }
            }
        }
        while self.odd(6) {
            parts.push(self.redirection(depth));
        }
        let mut text = String::new();
        for (number, part) in parts.iter().enumerate() {
            if number > 0 {
                text.push_str(self.blank());
            }
            text.push_str(part);
        }
        text
    }

    fn program(&mut self) -> String {
        let name = self.random.pick(PROGRAMS).to_owned();
        if !self.odd(4) {
            return name;
        }
        let (first, rest) = name.split_at(1);
        match self.random.below(16) {
            0 => format!("\\{name}"),
            1 => format!("\"{name}\""),
            2 => format!("'{name}'"),
            3 => format!("{first}''{rest}"),
            4 => format!("{first}\"{rest}\""),
            5 => format!("$'{name}'"),
            6 => format!("$'\\x{:x}'{rest}", first.as_bytes()[0]),
            7 => format!("$'\\{:03o}{rest}'", first.as_bytes()[0]),
            8 => format!("$\"{name}\""),
            9 => format!("{first}\\\n{rest}"),
            10 => format!("{{{name},a}}"),
            11 => format!("{first}${{nothing}}{rest}"),
            12 => format!("X={name}; $X"),
            13 => format!("$'\\u{:04x}'{rest}", first.as_bytes()[0]),
            14 => format!("$(echo {name})"),
            _ => format!("{first}{{{rest},}}"),
        }
    }

    fn wrapper(&mut self, depth: usize) -> String {
        self.tag("wrapper");
        let inner = if depth > 0 && self.random.once_in(3) {
            self.wrapper(depth - 1)
        } else {
            let program = self.random.pick(PROGRAMS).to_owned();
            let word = self.word(depth.saturating_sub(1));
            format!("{program} {word}")
        };
        let prefix = self.random.pick(&[
            "env",
            "env A=1",
            "env -i PATH=$PATH",
            "env -u A",
            "env --unset=A",
            "env -C sub",
            "env --",
            "env - PATH=$PATH",
            "env -S 'A=1 curl x'",
            "env -vS 'curl x'",
            "timeout 5",
            "timeout -k 1 5",
            "timeout --kill-after=1 -s TERM 5",
            "timeout --preserve-status 5",
            "timeout -v 5",
            "nice",
            "nice -n 5",
            "nice -5",
            "nice --adjustment=3",
            "nohup",
            "setsid",
            "setsid -w",
            "stdbuf -oL",
            "stdbuf -o L -e0",
            "command",
            "command -p",
            "command --",
            "exec",
            "exec -a z",
            "exec -c",
            "builtin command",
            "command builtin command",
            "sudo",
            "sudo -u root",
            "sudo A=1",
            "time",
            "xargs",
            "xargs -n1",
            "xargs -n 1 -I{}",
            "xargs -I % ",
            "xargs -0 -r",
            "xargs -i",
            "xargs -L1",
            "xargs -d '\\n'",
            "echo a | xargs",
            "env time",
            "flock sub/lock",
            "flock -n a.txt",
            "nohup --",
            "timeout 5 --",
            "eval",
            "eval eval",
            "command eval",
            "builtin eval",
            "env -S curl",
            "find . -maxdepth 0 -exec",
        ]);
        if prefix.starts_with("find") {
            let end = self.random.pick(&["\\;", "{} +", "{} \\;", "';'"]);
            return format!("{prefix} {inner} {end}");
        }
        if self.random.once_in(6) {
            self.tag("bash -c");
            let flags = self.random.pick(&[
                "-c",
                "-ec",
                "-uc",
                "-xc",
                "-c --",
                "-e -c",
                "+e -c",
                "-o errexit -c",
                "-lc",
                "--norc -c",
            ]);
            let shell = self.random.pick(&["bash", "sh", "/bin/bash", "env bash"]);
            let script = self.list_flat(depth.saturating_sub(1));
            let quoted = if self.random.once_in(2) && !script.contains('"') && !script.contains('\\') {
                format!("\"{script}\"")
            } else {
                format!("'{}'", script.replace('\'', "'\\''"))
            };
            let arguments = self.random.pick(&["", " a b", " curl rm"]);
            return format!("{shell} {flags} {quoted}{arguments}");
        }
        if self.random.once_in(8) {
            self.tag("eval");
            let script = self.list_flat(depth.saturating_sub(1));
            return format!("eval '{}'", script.replace('\'', "'\\''"));
        }
        format!("{prefix} {inner}")
    }

    fn builtin(&mut self, depth: usize) -> String {
        self.tag("builtin");
        let (one, two) = (self.word(depth.saturating_sub(1)), self.word(depth.saturating_sub(1)));
        match self.random.below(26) {
            0 => "cd sub".to_owned(),
            1 => format!("cd {one}"),
            2 => "cd ..".to_owned(),
            3 => "cd sub/deep && cd -".to_owned(),
            4 => "pushd sub".to_owned(),
            5 => "popd".to_owned(),
            6 => format!("echo {one} {two}"),
            7 => format!("printf '%s' {one}"),
            8 => format!("export A={one}"),
            9 => format!("declare A={one}"),
            10 => format!("read X; {} $X", self.random.pick(PROGRAMS)),
            11 => format!("set -- {one} {two}; $1"),
            12 => "exit".to_owned(),
            13 => ":".to_owned(),
            14 => format!("test {one} = {two}"),
            15 => format!("[ {one} ]"),
            16 => format!("trap 'curl {}' EXIT", self.random.pick(&["a", "b"])),
            17 => "shopt -s extglob".to_owned(),
            18 => "shopt -s expand_aliases\nalias ls=curl\nls a".to_owned(),
            19 => "unset X".to_owned(),
            20 => format!("printf -v X %s curl; $X {one}"),
            21 => "mapfile -t X < a.txt; ${X[0]}".to_owned(),
            22 => "let 'a=1'".to_owned(),
            23 => "wait".to_owned(),
            24 => "set -e".to_owned(),
            _ => format!(": {one} {two}"),
        }
    }

    fn assignment(&mut self, depth: usize) -> String {
        let word = self.word(depth.saturating_sub(1));
        match self.random.below(9) {
            0 => format!("A=({word} curl)"),
            1 => format!("A[1]={word}"),
            2 => format!("A+={word}"),
            3 => "A=".to_owned(),
            4 => format!("A=1 X={word}"),
            5 => format!("A[{}]=1", self.substitution(depth.saturating_sub(1))),
            _ => format!("{}={word}", self.random.pick(&["X", "Y", "A"])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_lines() {
        let lines = |seed| {
            (0..50)
                .map(|number| line(&mut Random::new(seed, number)).line)
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(1), lines(1));
        assert_ne!(lines(1), lines(2));
    }

    #[test]
    fn every_construct_comes_up() {
        let tags: BTreeSet<&str> = (0..4000)
            .flat_map(|number| line(&mut Random::new(7, number)).tags)
            .collect();
        for tag in [
            "if",
            "case",
            "[[",
            "((",
            "for((",
            "coproc",
            "here-document",
            "bash -c",
            "eval",
            "brace",
            "select",
            "declare -n",
            "several here-documents",
        ] {
            assert!(tags.contains(tag), "{tag}");
        }
    }
}
