//! Keys of the index: what a rule is about, as one number.
//!
//! A number is 8 bytes where the words are 50. Two things that have the same number only cost a look at one rule more.

use std::hash::{BuildHasherDefault, Hasher};

use crate::{Effect, rule::PathVerb};

/// What a key is made from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A rule for every command, by effect.
    EveryCommand,
    /// A rule on commands that may begin with anything.
    AnyCommand,
    /// A whole command.
    Command,
    /// The first words of a command.
    CommandWords,
    /// The first bytes of a command.
    CommandBytes,
    /// The program of a deny or ask.
    Program,
    /// The program of a deny or ask that names options, which count in any order.
    OptionSet,
    /// All rules on files for one verb and effect.
    Verb,
    /// A rule on files that may be about any path.
    AnyPath,
    /// Leading folders below an anchor.
    Folders,
    /// One segment of a path.
    Segment,
    /// How a segment of a path begins.
    SegmentBeginning,
    /// How a segment of a path ends.
    SegmentEnding,
    /// A host.
    Host,
    /// The last labels of a host; none at all for rules on any.
    HostEnding,
    /// A rule that may be about any MCP tool.
    AnyMcp,
    /// The first part of an MCP server's name.
    McpServer,
    /// A whole server, or a whole tool of one.
    McpExact,
    /// A rule on any search of the web.
    AnyWebSearch,
    /// A search in these words.
    WebSearch,
    /// A rule on any agent.
    AnyAgent,
    /// An agent's type.
    Agent,
    /// A rule on any skill.
    AnySkill,
    /// A skill's name.
    Skill,
    /// How skills' names begin, with a colon at the end.
    SkillGroup,
    /// A rule that may be about any tool.
    AnyTool,
    /// A tool's name.
    Tool,
    /// A field of an input.
    Parameter,
}

/// The number of a key while it is being made (FNV-1a).
#[derive(Clone, Copy, Debug)]
pub(super) struct Key(u64);

impl Key {
    pub(super) fn new(kind: Kind) -> Self {
        Self(0xcbf2_9ce4_8422_2325).byte(kind as u8)
    }

    pub(super) fn byte(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    pub(super) fn text(self, text: &str) -> Self {
        text.bytes().fold(self, Self::byte)
    }

    /// A text in lower case.
    pub(super) fn folded(self, text: &str) -> Self {
        if text.is_ascii() {
            return text.bytes().fold(self, |key, byte| key.byte(byte.to_ascii_lowercase()));
        }
        text.chars().flat_map(char::to_lowercase).fold(self, |key, c| {
            let mut buffer = [0; 4];
            key.text(c.encode_utf8(&mut buffer))
        })
    }

    /// At most so many bytes.
    pub(super) fn first_bytes(self, text: &str, most: usize) -> Self {
        text.bytes().take(most).fold(self, Self::byte)
    }

    pub(super) fn effect(self, effect: Effect) -> Self {
        self.byte(effect as u8)
    }

    pub(super) fn verb(self, verb: PathVerb, effect: Effect) -> Self {
        self.byte(verb as u8).effect(effect)
    }

    pub(super) fn number(self) -> u64 {
        // The table takes its place from the highest and the lowest bits, where FNV differs least.
        let mut number = self.0;
        number ^= number >> 32;
        number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        number ^ (number >> 29)
    }
}

/// Takes a key's number as it is.
pub(super) type Mixed = BuildHasherDefault<Given>;

/// See [`Mixed`].
#[derive(Default)]
pub(super) struct Given(u64);

impl Hasher for Given {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
