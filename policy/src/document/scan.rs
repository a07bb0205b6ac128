//! A linear look at a text before the parser recurses into it: size and depth, and where bytes stand for people.

/// Deepest nesting of a document. The format needs four levels.
pub(crate) const MAX_DEPTH: usize = 16;

/// What some editors begin a file with. It is no blank to JSON, and no editor shows it.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Where the text nests deeper than [`MAX_DEPTH`]: the offset of the bracket that is one too many.
pub(crate) fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => {
                while let Some((_, inner)) = bytes.next() {
                    match inner {
                        b'\\' => {
                            bytes.next();
                        }
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'/' => match bytes.peek() {
                Some((_, b'/')) => {
                    for (_, inner) in bytes.by_ref() {
                        if inner == b'\n' {
                            break;
                        }
                    }
                }
                Some((_, b'*')) => {
                    bytes.next();
                    let mut before = 0;
                    for (_, inner) in bytes.by_ref() {
                        if before == b'*' && inner == b'/' {
                            break;
                        }
                        before = inner;
                    }
                }
                _ => {}
            },
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(at);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// How many bytes lie between two counts of characters.
const STRIDE: usize = 1024;

/// Where lines begin, to say line and column of a byte.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// How many characters begin before each multiple of [`STRIDE`]: a long line must not be counted again for each place
    /// in it.
    marks: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let mut marks = vec![0];
        for block in text.as_bytes().chunks(STRIDE) {
            let before = marks.last().copied().unwrap_or_default();
            marks.push(before + beginnings(block));
        }
        Self {
            text,
            starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect(),
            marks,
        }
    }

    /// Line and column in characters, both from 1.
    pub(crate) fn position(&self, at: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= at).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let column = self.characters_before(at).saturating_sub(self.characters_before(start)) + 1;
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (narrow(line), narrow(column))
    }

    fn characters_before(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        let block = at / STRIDE;
        let rest = self.text.as_bytes().get(block * STRIDE..at).unwrap_or_default();
        self.marks.get(block).copied().unwrap_or_default() + beginnings(rest)
    }
}

/// How many characters begin in these bytes of UTF-8.
fn beginnings(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_strings_and_comments() {
        let deep = "[".repeat(MAX_DEPTH + 1);
        assert_eq!(too_deep(&deep), Some(MAX_DEPTH));
        assert_eq!(too_deep(&"[".repeat(MAX_DEPTH)), None);
        assert_eq!(too_deep(&format!("\"{deep}\\\"{deep}\"")), None);
        assert_eq!(too_deep(&format!("// {deep}\n[]")), None);
        assert_eq!(too_deep(&format!("/* {deep} */ []")), None);
        assert_eq!(too_deep(&"[]".repeat(100)), None);
        assert!(too_deep(&"[".repeat(1_000_000)).is_some());
    }

    #[test]
    fn columns_count_characters() {
        let lines = Lines::new("a\nüü\"x\n");
        assert_eq!(lines.position(0), (1, 1));
        assert_eq!(lines.position(6), (2, 3));
        assert_eq!(lines.position(9), (3, 1));
        let long = format!("x\n{}\"", "ü".repeat(5000));
        assert_eq!(Lines::new(&long).position(2 + 10_000), (2, 5001));
    }
}
