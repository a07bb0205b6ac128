//! A policy document as a tree of keys and values, and how it is laid out as text.
//!
//! Objects are built along the table of keys, so the order of the keys is the table's, and a key that the table does not
//! have cannot be printed. What a value says is the printer's business.

use std::collections::BTreeMap;

use super::keys::{Key, Section};
use crate::shell::visible;

/// Widest line that several values may share, in bytes.
const WIDTH: usize = 120;

/// A value of a document.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A text, number or truth value, as JSON.
    Scalar(String),
    /// A list. A tall one has each entry on a line of its own.
    List { tall: bool, items: Vec<Node> },
    /// An object. A tall one has each key on a line of its own.
    Object {
        tall: bool,
        entries: Vec<(&'static str, Node)>,
    },
    /// A value whose line is wanted, under a number.
    Marked(usize, Box<Node>),
}

impl Node {
    pub(crate) fn text(text: &str) -> Self {
        Self::Scalar(quoted(text))
    }

    pub(crate) fn boolean(value: bool) -> Self {
        Self::Scalar(value.to_string())
    }

    pub(crate) fn list(tall: bool, items: impl IntoIterator<Item = Self>) -> Self {
        Self::List {
            tall,
            items: items.into_iter().collect(),
        }
    }

    pub(crate) fn texts<T: AsRef<str>>(tall: bool, texts: impl IntoIterator<Item = T>) -> Self {
        Self::list(tall, texts.into_iter().map(|text| Self::text(text.as_ref())))
    }

    /// The object that has of each key of a section what `of` gives for it.
    pub(crate) fn section(
        section: &'static Section,
        tall: bool,
        mut of: impl FnMut(&'static Key) -> Option<Self>,
    ) -> Self {
        Self::Object {
            tall,
            entries: section
                .keys
                .iter()
                .filter_map(|key| of(key).map(|node| (key.name, node)))
                .collect(),
        }
    }

    /// `None` if it is an object or a list without entries.
    pub(crate) fn unless_empty(self) -> Option<Self> {
        match &self {
            Self::List { items, .. } if items.is_empty() => None,
            Self::Object { entries, .. } if entries.is_empty() => None,
            _ => Some(self),
        }
    }

    /// The whole as text, with a comment as its first line, and the lines of what was marked.
    pub(crate) fn render(&self, comment: Option<&str>) -> (String, BTreeMap<u32, usize>) {
        let mut page = Page {
            comment,
            ..Page::default()
        };
        page.node(0, "", self, "");
        (page.text, page.marks)
    }

    /// The whole on one line.
    pub(crate) fn inline(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Scalar(text) => out.push_str(text),
            Self::Marked(_, inner) => inner.write(out),
            Self::List { items, .. } => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object { entries, .. } if entries.is_empty() => out.push_str("{}"),
            Self::Object { entries, .. } => {
                out.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if index == 0 { " \"" } else { ", \"" });
                    out.push_str(key);
                    out.push_str("\": ");
                    value.write(out);
                }
                out.push_str(" }");
            }
        }
    }
}

/// A text as JSON. What would hide in it or turn it around stands in escapes, so that who reads it sees it.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::String(text.to_owned()).to_string();
    if matches!(visible(&json), std::borrow::Cow::Borrowed(_)) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 32);
    let mut units = [0; 2];
    for c in json.chars() {
        let mut own = [0; 4];
        match visible(c.encode_utf8(&mut own)) {
            std::borrow::Cow::Borrowed(_) => out.push(c),
            std::borrow::Cow::Owned(_) => {
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out
}

#[derive(Default)]
struct Page<'c> {
    text: String,
    lines: u32,
    marks: BTreeMap<u32, usize>,
    comment: Option<&'c str>,
}

impl Page<'_> {
    fn line(&mut self, depth: usize, pieces: &[&str]) {
        self.lines += 1;
        for _ in 0..depth {
            self.text.push_str("  ");
        }
        pieces.iter().for_each(|piece| self.text.push_str(piece));
        self.text.push('\n');
    }

    fn node(&mut self, depth: usize, key: &str, node: &Node, comma: &str) {
        let node = match node {
            Node::Marked(number, inner) => {
                let before = self.lines;
                self.node(depth, key, inner, comma);
                // What is marked is a rule: a text, or an object whose first key holds the text.
                let broken = matches!(&**inner, Node::Object { .. }) && self.lines > before + 1;
                self.marks.insert(before + if broken { 2 } else { 1 }, *number);
                return;
            }
            other => other,
        };
        let (tall, empty) = match node {
            Node::List { tall, items } => (*tall, items.is_empty()),
            Node::Object { tall, entries } => (*tall, entries.is_empty()),
            Node::Scalar(_) | Node::Marked(..) => (false, true),
        };
        if empty || !tall {
            let inline = node.inline();
            if empty || 2 * depth + key.len() + inline.len() + comma.len() <= WIDTH {
                return self.line(depth, &[key, &inline, comma]);
            }
        }
        let comma_after = |last: bool| if last { "" } else { "," };
        match node {
            Node::List { items, .. } => {
                self.line(depth, &[key, "["]);
                for (index, item) in items.iter().enumerate() {
                    self.node(depth + 1, "", item, comma_after(index + 1 == items.len()));
                }
                self.line(depth, &["]", comma]);
            }
            Node::Object { entries, .. } => {
                self.line(depth, &[key, "{"]);
                if let Some(comment) = self.comment.take() {
                    self.line(depth + 1, &["// ", comment]);
                }
                for (index, (key, value)) in entries.iter().enumerate() {
                    let key = format!("\"{key}\": ");
                    self.node(depth + 1, &key, value, comma_after(index + 1 == entries.len()));
                }
                self.line(depth, &["}", comma]);
            }
            Node::Scalar(_) | Node::Marked(..) => {}
        }
    }
}
