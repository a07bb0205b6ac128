//! From the syntax tree of a document to a [`PolicyDocument`], collecting every fault on the way.

mod controls;
mod ignore;
mod rules;
mod run;
mod sandbox;

use std::{collections::BTreeSet, ops::Range};

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Array, Object, ObjectProp, Value},
    common::Ranged,
    parse_to_ast,
};

use super::{
    DocumentOrigin, Fault, PolicyDocument, RuleList, Settings,
    keys::{self, MAX_WORDS, Section},
    scan,
};
use crate::{Effect, Layer, Mode, sandbox::SandboxSettings};

mod allowlists;

/// Most faults that are reported; a text with more is no policy at all.
const MAX_FAULTS: usize = 200;
pub(super) fn document(text: &str, origin: DocumentOrigin) -> Result<PolicyDocument, Vec<Fault>> {
    let mut reader = Reader::new(text, origin);
    reader.whole();
    reader.faults.sort_by_key(|fault| (fault.span.start, fault.span.end));
    if reader.faults.is_empty() {
        Ok(reader.list.finish())
    } else {
        reader.faults.truncate(MAX_FAULTS);
        Err(reader.faults)
    }
}

pub(super) fn restrictions(text: &str, origin: DocumentOrigin) -> PolicyDocument {
    let mut reader = Reader::new(text, origin);
    reader.whole();
    let mut document = reader.list.finish();
    document.rules.retain(|rule| rule.effect != Effect::Allow);
    for rule in &mut document.rules {
        // An exception widens, and of a text that is not understood nothing widens.
        rule.exceptions.clear();
    }
    document.allowlists.keep_what_narrows();
    document.settings = Settings {
        permitted_modes: document.settings.permitted_modes,
        managed_rules_only: document.settings.managed_rules_only,
        auto_allow_if_sandboxed: document.settings.auto_allow_if_sandboxed.filter(|allowed| !allowed),
        protect_agent_directories: document.settings.protect_agent_directories.filter(|on| *on),
        hierarchical_ignore: document.settings.hierarchical_ignore,
        controls: document.settings.controls.without_grants(),
        run: document.settings.run.narrowing(),
        ..Settings::default()
    };
    document
}

/// Reads a `sandbox.json`. Who may say what is settled where several are put together.
pub(super) fn sandbox(text: &str) -> Result<SandboxSettings, Vec<Fault>> {
    let origin = DocumentOrigin {
        layer: Layer::Builtin,
        name: String::new(),
        folder: None,
    };
    let mut reader = Reader::new(text, origin);
    let mut settings = SandboxSettings::default();
    reader.parsed(|reader, object| settings = reader.sandbox_file(object));
    reader.faults.sort_by_key(|fault| (fault.span.start, fault.span.end));
    reader.faults.truncate(MAX_FAULTS);
    if reader.faults.is_empty() {
        Ok(settings)
    } else {
        Err(reader.faults)
    }
}

struct Reader<'a> {
    text: &'a str,
    lines: scan::Lines<'a>,
    layer: Layer,
    faults: Vec<Fault>,
    list: RuleList,
    regexes: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, origin: DocumentOrigin) -> Self {
        Self {
            text,
            lines: scan::Lines::new(text),
            layer: origin.layer,
            faults: Vec::new(),
            list: RuleList::new(origin),
            regexes: 0,
        }
    }
}

fn range(ranged: &impl Ranged) -> Range<usize> {
    ranged.start()..ranged.end()
}

fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
        Value::NullKeyword(_) => "null",
    }
}

impl<'a> Reader<'a> {
    fn note(&self, span: Range<usize>, message: impl Into<String>, hint: Option<String>) -> Fault {
        let (line, column) = self.lines.position(span.start);
        Fault {
            span,
            line,
            column,
            message: message.into(),
            hint,
        }
    }

    fn fault(&mut self, span: Range<usize>, message: impl Into<String>, hint: Option<&str>) {
        if self.faults.len() <= MAX_FAULTS {
            let fault = self.note(span, message, hint.map(str::to_owned));
            self.faults.push(fault);
        }
    }

    fn whole(&mut self) {
        self.parsed(|this, object| this.top(object));
    }

    /// Reads the text as one object, if it is one within the bounds.
    fn parsed(&mut self, read: impl FnOnce(&mut Self, &Object<'_>)) {
        if self.text.len() > PolicyDocument::MAX_BYTES {
            self.fault(
                0..self.text.len(),
                format!("the document is larger than {} KiB", PolicyDocument::MAX_BYTES / 1024),
                Some("move rules into another layer, or join those that a wildcard can cover"),
            );
            return;
        }
        if let Some(at) = scan::too_deep(self.text) {
            self.fault(
                at..at + 1,
                format!("brackets are nested deeper than {} levels", scan::MAX_DEPTH),
                Some("a policy needs no more than five"),
            );
            return;
        }
        if self.text.starts_with(scan::BYTE_ORDER_MARK) {
            self.fault(
                0..scan::BYTE_ORDER_MARK.len_utf8(),
                "the document begins with a byte order mark",
                Some("save it as UTF-8 without one"),
            );
            return;
        }
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            ..ParseOptions::default()
        };
        let parsed = match parse_to_ast(self.text, &CollectOptions::default(), &options) {
            Ok(parsed) => parsed,
            Err(error) => {
                let span = error.range().start..error.range().end;
                let message = error.kind().to_string().to_lowercase();
                self.fault(
                    span,
                    format!("this is no JSON: {message}"),
                    Some("comments and trailing commas are fine"),
                );
                return;
            }
        };
        match parsed.value {
            Some(Value::Object(object)) => read(self, &object),
            Some(other) => {
                self.fault(
                    range(&other),
                    format!("a policy: expected an object, found {}", kind(&other)),
                    Some("write `{ … }`"),
                );
            }
            None => self.fault(
                0..self.text.len(),
                "the document is empty",
                Some("write `{}` for a policy that says nothing"),
            ),
        }
    }

    /// Calls `each` for every key of an object that the document's layer may write; unknown and repeated keys are faults,
    /// and so are those of another layer.
    fn keys<'o, 't>(
        &mut self,
        object: &'o Object<'t>,
        section: &'static Section,
        mut each: impl FnMut(&mut Self, &'static str, &'o ObjectProp<'t>),
    ) {
        let place = section.place;
        let mut seen = BTreeSet::new();
        for property in &object.properties {
            let name = property.name.as_str();
            let Some(key) = section.keys.iter().find(|key| key.name == name) else {
                let names: Vec<&str> = section.keys.iter().map(|key| key.name).collect();
                let hint = match names.iter().find(|key| key.eq_ignore_ascii_case(name)) {
                    Some(right) => format!("write `{right}`"),
                    None => format!("known are {}", names.join(", ")),
                };
                self.fault(
                    range(&property.name),
                    format!("unknown key `{name}` in {place}"),
                    Some(&hint),
                );
                continue;
            };
            if !seen.insert(name) {
                self.fault(
                    range(&property.name),
                    format!("the key `{name}` stands twice in {place}"),
                    Some("keep one of them"),
                );
            } else if key.layers.include(self.layer) {
                each(self, key.name, property);
            } else {
                self.fault(
                    range(&property.name),
                    format!("`{name}` only counts in team policy, not in the {} layer", self.layer),
                    Some("ask the team's admin"),
                );
            }
        }
    }

    fn top(&mut self, object: &Object<'_>) {
        self.keys(object, &keys::DOCUMENT, |this, key, property| {
            if key == "version" {
                return this.version(&property.value);
            }
            match key {
                "$schema" => return,
                "terminalAllowlist" => return this.terminal_allowlist(&property.value),
                "mcpAllowlist" => return this.mcp_allowlist(&property.value),
                "autoRun" => return this.auto_run(&property.value),
                _ => {}
            }
            let Some(object) = this.object(&property.value, key) else {
                return;
            };
            match key {
                "permissions" => this.permissions(object),
                "modes" => this.modes(object),
                "locks" => this.locks(object),
                "sandbox" => this.sandbox(object),
                "ignore" => this.ignore(object),
                "protections" => this.protections(object),
                "mcp" => this.mcp(object),
                "repositories" => this.repositories(object),
                "browser" => this.browser(object),
                "models" => this.models(object),
                _ => {}
            }
        });
    }

    fn locks(&mut self, object: &Object<'_>) {
        self.keys(object, &keys::LOCKS, |this, key, property| {
            if let Some(value) = this.boolean(&property.value, key) {
                this.list.document.settings.managed_rules_only = value;
            }
        });
    }

    fn version(&mut self, value: &Value<'_>) {
        match value {
            Value::NumberLit(number) if number.value == "1" => {}
            Value::NumberLit(number) => self.fault(
                range(value),
                format!("version {} of the policy format is not known", number.value),
                Some("this program reads version 1"),
            ),
            other => self.fault(
                range(other),
                format!("`version` is a number, not {}", kind(other)),
                Some("write `1`"),
            ),
        }
    }

    fn object<'v, 't>(&mut self, value: &'v Value<'t>, key: &str) -> Option<&'v Object<'t>> {
        let object = value.as_object();
        if object.is_none() {
            self.fault(
                range(value),
                format!("`{key}`: expected an object, found {}", kind(value)),
                None,
            );
        }
        object
    }

    fn array<'v, 't>(&mut self, value: &'v Value<'t>, key: &str) -> Option<&'v Array<'t>> {
        let array = value.as_array();
        if array.is_none() {
            self.fault(
                range(value),
                format!("`{key}`: expected an array, found {}", kind(value)),
                Some("write `[ … ]`"),
            );
        }
        array
    }

    fn boolean(&mut self, value: &Value<'_>, key: &str) -> Option<bool> {
        let boolean = value.as_boolean_lit().map(|literal| literal.value);
        if boolean.is_none() {
            self.fault(
                range(value),
                format!("`{key}`: expected true or false, found {}", kind(value)),
                None,
            );
        }
        boolean
    }

    fn string<'v>(&mut self, value: &'v Value<'_>, key: &str) -> Option<&'v str> {
        let string = value.as_string_lit().map(|literal| literal.value.as_ref());
        if string.is_none() {
            self.fault(
                range(value),
                format!("`{key}`: expected a string, found {}", kind(value)),
                None,
            );
        }
        string
    }

    fn words(&mut self, value: &Value<'_>, key: &str) -> Option<String> {
        let words = self.string(value, key)?;
        if words.len() > MAX_WORDS || words.trim().is_empty() {
            self.fault(
                range(value),
                format!("`{key}` holds between 1 and {MAX_WORDS} bytes"),
                None,
            );
            return None;
        }
        Some(words.to_owned())
    }

    fn permissions(&mut self, object: &Object<'_>) {
        self.keys(object, &keys::PERMISSIONS, |this, key, property| {
            let effect = match key {
                "allow" => Effect::Allow,
                "ask" => Effect::Ask,
                "deny" => Effect::Deny,
                "defaultMode" => return this.default_mode(&property.value),
                _ => return this.directories(&property.value),
            };
            if let Some(array) = this.array(&property.value, key) {
                this.rules(array, effect);
            }
        });
    }

    fn default_mode(&mut self, value: &Value<'_>) {
        let Some(mode) = self.mode(value, "defaultMode") else {
            return;
        };
        if self.layer.is_inside_project() && !mode.may_be_selected_by_project() {
            self.fault(
                range(value),
                format!(
                    "the {} layer cannot select {mode}: whoever writes to the project would select it",
                    self.layer
                ),
                Some("choose the mode when the session starts"),
            );
        } else {
            self.list.document.settings.default_mode = Some(mode);
        }
    }

    fn mode(&mut self, value: &Value<'_>, key: &str) -> Option<Mode> {
        let word = self.string(value, key)?;
        match word.parse() {
            Ok(mode) => Some(mode),
            Err(error) => {
                self.fault(range(value), crate::mode::UnknownMode::to_string(&error), None);
                None
            }
        }
    }

    fn directories(&mut self, value: &Value<'_>) {
        let Some(array) = self.array(value, "additionalDirectories") else {
            return;
        };
        for element in &array.elements {
            let Some(text) = self.string(element, "additionalDirectories") else {
                continue;
            };
            if text.starts_with("//") {
                self.fault(
                    range(element),
                    "a folder is no rule: `//` has no meaning here",
                    Some(&format!(
                        "write `{}`",
                        text.trim_start_matches('/').replacen("", "/", 1)
                    )),
                );
            } else if text.is_empty() || text.contains(['*', '?', '\0']) {
                self.fault(range(element), "a folder is one path, without wildcards", None);
            } else if matches!(text, "/" | "~") {
                self.fault(
                    range(element),
                    format!("`{text}` as a folder of the workspace would open everything in it"),
                    None,
                );
            } else {
                self.list.document.settings.additional_directories.push(text.to_owned());
            }
        }
    }
}
