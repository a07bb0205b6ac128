//! Walks the tree of a file of tests and notes every fault on the way.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{FindPolicy, MAX_BYTES, TestFault, TestFile, layers, request};
use crate::{Fault, Layer, PolicyDocument, document::Lines};

/// Most faults that are reported.
const MAX_FAULTS: usize = 200;

/// A value with its place in the text.
pub(super) type Placed<'a> = Spanned<DeValue<'a>>;

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    /// How messages call the file.
    pub(super) name: &'a str,
    lines: Lines<'a>,
    pub(super) faults: Vec<TestFault>,
    /// The documents that were read, as texts.
    pub(super) texts: Vec<(Layer, String)>,
}

pub(super) fn read(text: &str, name: &str, files: &mut FindPolicy<'_>) -> Result<TestFile, Vec<TestFault>> {
    let mut reader = Reader {
        text,
        name,
        lines: Lines::new(text),
        faults: Vec::new(),
        texts: Vec::new(),
    };
    let read = reader.whole(files);
    if reader.faults.is_empty() {
        return Ok(read);
    }
    reader.faults.truncate(MAX_FAULTS);
    // Faults of the file in the order of its text, then those of the policies that it names.
    reader
        .faults
        .sort_by_key(|fault| (fault.document.is_some(), fault.document.clone(), fault.fault.span.start));
    Err(reader.faults)
}

pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

impl<'a> Reader<'a> {
    fn whole(&mut self, files: &mut FindPolicy<'_>) -> TestFile {
        let mut out = TestFile {
            about: String::new(),
            cases: Vec::new(),
            documents: Vec::new(),
        };
        if self.text.len() > MAX_BYTES {
            let size = MAX_BYTES / (1024 * 1024);
            self.fault(0..self.text.len(), format!("the file is larger than {size} MiB"), None);
            return out;
        }
        let (tree, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            let span = error.span().unwrap_or(0..self.text.len());
            self.fault(span, format!("this is no TOML: {}", error.message()), None);
        }
        if !errors.is_empty() {
            return out;
        }
        let top = tree.get_ref();
        let mut common = request::Draft::default();
        let (mut requests, mut placed) = (None, layers::Layers::default());
        self.keys(top, "the file", &TOP, |this, key, value| match key {
            "about" => out.about = this.string(value, key).unwrap_or_default().to_owned(),
            "rules" => placed.rules(this, value),
            "layers" => placed.layers(this, value),
            "request" => requests = Some(value),
            _ => common.key(this, key, value),
        });
        let root = common.root();
        out.documents = placed.documents(self, files, &root, common.home().as_ref());
        let entries = match requests.map(|value| (value, value.get_ref())) {
            Some((_, DeValue::Array(entries))) if !entries.is_empty() => entries.iter().collect(),
            Some((value, DeValue::Table(_))) => {
                self.fault(
                    value.span(),
                    "`request` is a list of tables",
                    Some("write `[[request]]`"),
                );
                Vec::new()
            }
            _ => {
                let end = self.text.len();
                self.fault(
                    end..end,
                    "the file tests nothing: it holds no `[[request]]`",
                    Some("add `[[request]]` with a call and the `decision` that is right for it"),
                );
                Vec::new()
            }
        };
        for entry in entries {
            if let Some(table) = self.table(entry, "request") {
                out.cases
                    .extend(request::case(self, entry.span(), table, &common, &out.documents));
            }
        }
        out
    }

    /// Line of a place in the text.
    pub(super) fn line(&self, at: usize) -> u32 {
        self.lines.position(at).0
    }

    /// Line and column of a place in the text.
    pub(super) fn position(&self, at: usize) -> (u32, u32) {
        self.lines.position(at)
    }

    pub(super) fn fault(&mut self, span: Range<usize>, message: impl Into<String>, hint: Option<&str>) {
        let (line, column) = self.lines.position(span.start);
        self.faults.push(TestFault {
            document: None,
            fault: Fault {
                span,
                line,
                column,
                message: message.into(),
                hint: hint.map(str::to_owned),
            },
        });
    }

    /// Calls `each` for every known key of a table, in the order of the text; unknown keys are faults.
    pub(super) fn keys<'o, 't>(
        &mut self,
        table: &'o DeTable<'t>,
        place: &str,
        known: &[&[&'static str]],
        mut each: impl FnMut(&mut Self, &'static str, &'o Placed<'t>),
    ) {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in entries {
            let word = name.get_ref().as_ref();
            let mut all = known.iter().flat_map(|keys| keys.iter().copied());
            match all.clone().find(|key| *key == word) {
                Some(key) => each(self, key, value),
                None => {
                    let hint = match all.find(|key| key.eq_ignore_ascii_case(word)) {
                        Some(right) => format!("write `{right}`"),
                        None => format!("known are {}", known.concat().join(", ")),
                    };
                    self.fault(name.span(), format!("unknown key `{word}` in {place}"), Some(&hint));
                }
            }
        }
    }

    fn wrong(&mut self, value: &Placed<'_>, key: &str, wanted: &str) {
        let found = kind(value.get_ref());
        self.fault(value.span(), format!("`{key}` is {wanted}, not {found}"), None);
    }

    pub(super) fn table<'v, 't>(&mut self, value: &'v Placed<'t>, key: &str) -> Option<&'v DeTable<'t>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.wrong(value, key, "a table");
                None
            }
        }
    }

    pub(super) fn string<'v>(&mut self, value: &'v Placed<'_>, key: &str) -> Option<&'v str> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.as_ref()),
            _ => {
                self.wrong(value, key, "a string");
                None
            }
        }
    }

    pub(super) fn boolean(&mut self, value: &Placed<'_>, key: &str) -> Option<bool> {
        match value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => {
                self.wrong(value, key, "true or false");
                None
            }
        }
    }

    pub(super) fn array<'v, 't>(&mut self, value: &'v Placed<'t>, key: &str) -> Option<&'v [Placed<'t>]> {
        match value.get_ref() {
            DeValue::Array(array) => Some(array),
            _ => {
                self.wrong(value, key, "an array");
                None
            }
        }
    }

    pub(super) fn strings(&mut self, value: &Placed<'_>, key: &str) -> Vec<String> {
        let entries = self.array(value, key).unwrap_or_default();
        entries
            .iter()
            .filter_map(|entry| self.string(entry, key).map(str::to_owned))
            .collect()
    }

    /// A word of a closed set.
    pub(super) fn word<T>(&mut self, value: &Placed<'_>, key: &str) -> Option<T>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        match self.string(value, key)?.parse() {
            Ok(word) => Some(word),
            Err(error) => {
                self.fault(value.span(), error.to_string(), None);
                None
            }
        }
    }

    /// The bytes of the file for a span within a string; the whole string where escapes shift them.
    pub(super) fn inside(&self, value: &Placed<'_>, inner: &str, span: &Range<usize>) -> Range<usize> {
        let whole = value.span();
        let raw = self.text.get(whole.clone()).unwrap_or_default();
        match raw.find(inner).filter(|_| !inner.is_empty()) {
            Some(at) => whole.start + at + span.start..whole.start + at + span.end,
            None => whole,
        }
    }
}

/// Keys of the file, besides those of its setting.
const OWN: &[&str] = &["about", "rules", "layers", "request"];
const TOP: [&[&str]; 2] = [OWN, request::SETTING];

/// A scalar, array or table as JSON, for the input of a tool.
pub(super) fn json(value: &DeValue<'_>) -> Option<serde_json::Value> {
    Some(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok()?.into(),
        DeValue::Float(number) => number.as_str().parse::<f64>().ok()?.into(),
        DeValue::Boolean(value) => (*value).into(),
        DeValue::Datetime(_) => return None,
        DeValue::Array(items) => items
            .iter()
            .map(|item| json(item.get_ref()))
            .collect::<Option<Vec<_>>>()?
            .into(),
        DeValue::Table(table) => object(table)?.into(),
    })
}

pub(super) fn object(table: &DeTable<'_>) -> Option<serde_json::Map<String, serde_json::Value>> {
    table
        .iter()
        .map(|(key, value)| Some((key.get_ref().to_string(), json(value.get_ref())?)))
        .collect()
}

/// Documents by where they came from.
pub(super) type Documents = Vec<Arc<PolicyDocument>>;
/// Targets or programs by name.
pub(super) type Named<T> = BTreeMap<String, T>;
