//! Scripts of sed, awk and sqlite3 among the words of a command: which only print, and what the others do.
//!
//! These languages can run programs and write files. A script that is to need no rule is read strictly: a closed list of
//! commands, and of signs in known places; whatever one implementation might read in another way than the next one is not
//! accepted. For a script that a rule allows it is looked whether it writes or runs something. Neither says what a script
//! does beyond that; files of scripts (`-f`) are not looked into.

/// Whether a sed script only chooses, changes and prints lines.
pub(super) fn sed_only_prints(script: &str) -> bool {
    let mut reader = Reader { rest: script };
    read_sed(&mut reader).is_some()
}

/// What is left to read.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.next();
        }
        found
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(is_skipped);
    }

    fn digits(&mut self) -> bool {
        let before = self.rest.len();
        self.skip(|c| c.is_ascii_digit());
        self.rest.len() < before
    }

    /// A pattern or what replaces it, up to the sign that ends it. Nothing where implementations could disagree about
    /// where it ends: a line end, a backslash at the end, an end inside of brackets.
    fn delimited(&mut self, end: char) -> Option<()> {
        let mut open = 0_i32;
        let mut before = ' ';
        loop {
            match self.next()? {
                '\n' => return None,
                '\\' => {
                    if self.next()? == '\n' {
                        return None;
                    }
                    before = ' ';
                    continue;
                }
                c if c == end => return (open <= 0).then_some(()),
                '[' => {
                    open += 1;
                    before = '[';
                    continue;
                }
                // `[]…]` and `[^]…]`: the first one is a member.
                ']' if matches!(before, '[' | '^') => return None,
                ']' => open -= 1,
                '^' if before == '[' => {
                    before = '^';
                    continue;
                }
                _ => {}
            }
            before = ' ';
        }
    }
}

fn read_sed(reader: &mut Reader<'_>) -> Option<()> {
    loop {
        reader.skip(|c| matches!(c, ' ' | '\t' | '\n' | ';'));
        if reader.rest.is_empty() {
            return Some(());
        }
        if sed_address(reader)? {
            reader.skip(|c| c == ' ');
            if reader.take(',') {
                reader.skip(|c| c == ' ');
                let _relative = reader.take('+') || reader.take('~');
                if !sed_address(reader)? {
                    return None;
                }
            }
        }
        reader.skip(|c| matches!(c, ' ' | '\t'));
        while reader.take('!') {
            reader.skip(|c| c == ' ');
        }
        match reader.next()? {
            // What follows is a command again.
            '{' => continue,
            '}' | 'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' => {}
            'q' | 'Q' | 'l' => {
                reader.skip(|c| c == ' ');
                reader.digits();
            }
            's' => {
                let end = sed_delimiter(reader)?;
                reader.delimited(end)?;
                reader.delimited(end)?;
                reader.skip(|c| matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M') || c.is_ascii_digit());
            }
            'y' => {
                let end = sed_delimiter(reader)?;
                reader.delimited(end)?;
                reader.delimited(end)?;
            }
            'b' | 't' | 'T' | ':' => {
                reader.skip(|c| c == ' ');
                reader.skip(|c| c.is_ascii_alphanumeric() || c == '_');
            }
            _ => return None,
        }
        reader.skip(|c| matches!(c, ' ' | '\t'));
        if !matches!(reader.peek(), None | Some(';' | '\n' | '}')) {
            return None;
        }
    }
}

/// Reads a line's number, the last line or a pattern; whether there was one, and nothing if it is not understood.
fn sed_address(reader: &mut Reader<'_>) -> Option<bool> {
    if reader.take('/') {
        reader.delimited('/')?;
        reader.skip(|c| matches!(c, 'I' | 'M'));
        return Some(true);
    }
    if reader.take('$') {
        return Some(true);
    }
    let number = reader.digits();
    if number && reader.take('~') {
        reader.digits();
    }
    Some(number)
}

fn sed_delimiter(reader: &mut Reader<'_>) -> Option<char> {
    reader
        .next()
        .filter(|c| c.is_ascii_punctuation() && !matches!(c, '\\' | '[' | ']' | '^' | ';' | '}'))
}

/// Words that make an awk program reach beyond its operands, wherever they stand, be it in a text: it runs programs, reads
/// or writes other files, shows the environment, sets what it was called with, or calls functions by a name it computes.
const AWK_REACHES: &[&str] = &[
    "system", "getline", "ENVIRON", "ARGV", "ARGC", "ARGIND", "PROCINFO", "SYMTAB", "FUNCTAB", "@",
];

/// Words after which a slash begins a pattern.
const AWK_KEYWORDS: &[&str] = &["print", "printf", "return", "in", "else", "do", "case", "exit"];

/// What a program was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// It only prints to its standard output.
    Prints,
    /// It does more, or holds something that is not accepted.
    Other,
    /// Where a text or a pattern begins or ends can be read in more than one way.
    Unsure,
}

/// Reads an awk program.
///
/// Where a slash could be a division or the beginning of a pattern, the program must hold no sign that could hide in what
/// is taken for the one or the other.
pub(super) fn awk(program: &str) -> Reading {
    let mut reach = AWK_REACHES.iter().any(|word| program.contains(word));
    let plain = !program.contains(['>', '|', '\\', '"']);
    let mut reader = Reader { rest: program };
    let mut printing = false;
    // How deep in parentheses, and how deep the last `print` stands.
    let (mut depth, mut print_depth) = (0_i32, 0_i32);
    let mut before = Before::Nothing;
    while let Some(c) = reader.next() {
        before = match c {
            ' ' | '\t' => continue,
            '\n' if depth > 0 => Before::Unsure,
            '\n' => Before::Nothing,
            '#' => {
                reader.skip(|c| c != '\n');
                continue;
            }
            '"' => {
                if awk_text(&mut reader).is_none() {
                    return Reading::Unsure;
                }
                Before::Unsure
            }
            '/' => match before {
                Before::Nothing => {
                    if reader.delimited('/').is_none() {
                        return Reading::Unsure;
                    }
                    Before::Unsure
                }
                Before::Value => Before::Nothing,
                Before::Unsure if plain => Before::Unsure,
                Before::Unsure => return Reading::Unsure,
            },
            '(' => {
                depth += 1;
                Before::Nothing
            }
            ')' => {
                depth -= 1;
                Before::Unsure
            }
            ']' => Before::Value,
            ';' | '}' => {
                printing = false;
                Before::Nothing
            }
            '|' => {
                let or = reader.take('|');
                reach |= !or;
                Before::Nothing
            }
            // A stream that keeps nothing.
            '>' if printing && depth <= print_depth && awk_stream(&mut reader) => Before::Unsure,
            // A file behind `print`, unless it stands in parentheses of its own.
            '>' if printing && depth <= print_depth => {
                reach = true;
                Before::Nothing
            }
            '+' | '-' if reader.take(c) => Before::Unsure,
            '{' | ',' | '!' | '~' | '&' | '=' | '<' | '>' | '+' | '-' | '*' | '%' | '^' | '?' | ':' | '[' => {
                Before::Nothing
            }
            '$' => Before::Unsure,
            '.' => Before::Value,
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let rest = reader.rest;
                reader.skip(|c| c.is_ascii_alphanumeric() || c == '_');
                let tail = rest
                    .get(..rest.len().saturating_sub(reader.rest.len()))
                    .unwrap_or_default();
                let word = format!("{c}{tail}");
                if matches!(word.as_str(), "print" | "printf") {
                    printing = true;
                    print_depth = depth;
                }
                if AWK_KEYWORDS.contains(&word.as_str()) {
                    Before::Nothing
                } else {
                    Before::Value
                }
            }
            _ => {
                reach = true;
                Before::Unsure
            }
        };
    }
    if reach { Reading::Other } else { Reading::Prints }
}

/// What stands before a slash.
#[derive(Clone, Copy)]
enum Before {
    /// Nothing that could be divided: a pattern begins.
    Nothing,
    /// A number or a name: it is divided.
    Value,
    /// It could be either.
    Unsure,
}

/// The rest of a text in double quotes.
fn awk_text(reader: &mut Reader<'_>) -> Option<()> {
    loop {
        match reader.next()? {
            '"' => return Some(()),
            '\n' => return None,
            '\\' => {
                reader.next().filter(|c| *c != '\n')?;
            }
            _ => {}
        }
    }
}

/// Streams that may stand behind `>`.
const AWK_STREAMS: &[&str] = &["/dev/stderr", "/dev/stdout"];

/// Reads on over the name of a stream, if nothing else stands behind `>`: what follows it would be put behind the name.
fn awk_stream(reader: &mut Reader<'_>) -> bool {
    let rest = reader.rest.trim_start_matches('>').trim_start_matches([' ', '\t']);
    let behind = AWK_STREAMS.iter().find_map(|name| {
        let rest = rest.strip_prefix('"')?.strip_prefix(name)?.strip_prefix('"')?;
        let rest = rest.trim_start_matches([' ', '\t']);
        (rest.is_empty() || rest.starts_with(['}', ';'])).then_some(rest)
    });
    if let Some(behind) = behind {
        reader.rest = behind;
    }
    behind.is_some()
}

/// What an awk program runs or writes: a pipe, `system`, a file behind `>`.
pub(super) fn awk_escape(program: &str) -> Option<String> {
    // A slash that may begin a pattern or divide: a quote behind it hides what follows from a reader that guesses wrong.
    if awk(program) == Reading::Unsure
        && ["system", "getline", "@", "|", ">"]
            .iter()
            .any(|sign| program.contains(sign))
    {
        return Some("/".to_owned());
    }
    // Outside of texts and patterns `|` is `||` or a pipe, and `>` a comparison or a file.
    let mut quote = false;
    let mut escaped = false;
    let mut pattern = false;
    let mut bare = String::new();
    // Where the last text begins, and what of `bare` stays if it is a stream and nothing else stands behind `>`.
    let mut text = String::new();
    let mut stream: Option<usize> = None;
    for c in program.chars() {
        if let Some(end) = stream.filter(|_| !matches!(c, ' ' | '\t')) {
            if matches!(c, '}' | ';') {
                bare.truncate(end);
            }
            stream = None;
        }
        if pattern && !escaped && c != '\\' {
            pattern = c != '/';
            bare.push('_');
        } else if escaped {
            escaped = false;
            bare.push('_');
        } else if c == '\\' {
            escaped = true;
        } else if c == '"' {
            quote = !quote;
            if !quote && AWK_STREAMS.contains(&text.as_str()) {
                let before = bare.trim_end_matches(['_']).strip_suffix('"').unwrap_or_default();
                let before = before.trim_end_matches([' ', '\t']);
                stream = before.ends_with('>').then(|| before.trim_end_matches('>').len());
            }
            text.clear();
            bare.push('"');
        } else if quote {
            text.push(c);
            bare.push('_');
        } else if c == '/'
            && bare.trim_end().is_empty()
                | bare
                    .trim_end()
                    .ends_with(['~', '(', ',', '!', '&', '|', '{', '}', ';', '\n'])
        {
            // A pattern, because a division has something before it.
            pattern = true;
            bare.push('_');
        } else {
            bare.push(c);
        }
    }
    if let Some(end) = stream {
        bare.truncate(end);
    }
    let without_or = bare.replace("||", "  ");
    if without_or.contains('|') {
        return Some("|".to_owned());
    }
    for word in ["system", "getline", "@load", "@include"] {
        if bare.contains(word) {
            return Some(word.to_owned());
        }
    }
    // `print … > "file"`, unless the comparison stands in parentheses or a condition.
    let mut statements = without_or.split([';', '}', '\n', '{']);
    statements
        .any(|statement| {
            let trimmed = statement.trim_start();
            let outer: String = {
                let mut depth = 0_i32;
                trimmed
                    .chars()
                    .filter(|c| {
                        match c {
                            '(' => depth += 1,
                            ')' => depth -= 1,
                            _ => {}
                        }
                        depth == 0
                    })
                    .collect()
            };
            (outer.contains("print")) && outer.contains('>')
        })
        .then(|| ">".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_of_sed_only_prints_if_all_of_it_is_understood() {
        for script in [
            "1,80p",
            "$p",
            "$=",
            "/a/,/b/p",
            "s/a/b/g",
            "s|a/b|c|",
            "1~2p",
            "/x/{=;p}",
            "5{p;q}",
            ":a;N;$!ba;s/\\n/ /g",
            "/^#/d;/^$/d",
            "s/[^a-z]//g; s/  */ /2p",
            "y/abc/ABC/",
            "10q",
            "0,/x/!d",
            "",
        ] {
            assert!(sed_only_prints(script), "{script}");
        }
        for script in [
            "w out",
            "1w out",
            "s/a/b/w out",
            "s/a/b/e",
            "1e id",
            "e",
            "r /etc/passwd",
            "R x",
            "W x",
            "a text",
            "i\\",
            "c x",
            "s/a/b/;w out",
            "s/[/]/w out/",
            "s/[]/]/w out/",
            "s/a/b\\",
            "s/a",
            "sxaxbx",
            "s;a;b;w x",
            "\\|x|w out",
            "b x w out",
            "p w out",
            "1,",
            "/a",
            "{p;w out\n}",
            "v",
            "F",
            "y/a/b/e",
            "#n",
            "s/a\n/b/",
        ] {
            assert!(!sed_only_prints(script), "{script}");
        }
    }

    #[test]
    fn an_awk_program_only_prints_if_nothing_in_it_can_be_read_in_two_ways() {
        for program in [
            "{print $1}",
            "NR>1 {s+=$3} END {print s/NR}",
            "/a|b/ {print FILENAME\":\"FNR}",
            "!seen[$0]++",
            "$3 > 5",
            "{ if ($3 > 5) print $1; else print $2 }",
            "{print ($1 > 5)}",
            "{gsub(/\"/, \"\"); print}",
            "NR==FNR {a[$1]; next} $1 in a",
            "{printf \"%d\\n\", $1}",
            "{print ($1+$2)/2}",
            "# a comment > x\n{print}",
            "",
        ] {
            assert_eq!(awk(program), Reading::Prints, "{program}");
        }
        for program in [
            "{print > \"x\"}",
            "{print $1 >> f}",
            "{print(1)(2) > \"x\"}",
            "{print | \"sh\"}",
            "{print |& \"sh\"}",
            "BEGIN{system(\"id\")}",
            "{\"id\" | getline}",
            "{getline < \"x\"}",
            "BEGIN{print ENVIRON[\"A\"]}",
            "BEGIN{ARGV[1]=\"x\"}",
            "@include \"x\"",
            "{@f()}",
            "{print a,\n b > \"x\"}",
            "{print\nx > \"y\"}",
        ] {
            assert_eq!(awk(program), Reading::Other, "{program}");
        }
        for program in [
            "{if(1) /\"/; system(\"id\"); if(1) /\"/}",
            "{if(1) /\"/; print > \"x\"; /\"/}",
            "/[/]\"/; {print > \"x\"} /\"/",
            "{x++ /\"/; y}",
            "/[]/]/ {print > 1}",
            "{print \"a}",
            "/a",
            "\"a\" /\"/",
        ] {
            assert_eq!(awk(program), Reading::Unsure, "{program}");
        }
    }
}
