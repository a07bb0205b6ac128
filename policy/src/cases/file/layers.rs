//! The documents that a file of tests puts in force: policy files that it names, whole documents and lists of rules that
//! stand in it.

use std::sync::Arc;

use toml::de::DeValue;

use super::{
    FindPolicy, TestFault,
    reader::{Documents, Placed, Reader, json},
};
use crate::{AbsPath, DocumentOrigin, Effect, Fault, Layer, PolicyDocument, document::PlacedRule};

const LAYERS: [&str; 5] = ["team", "session", "local", "project", "user"];

/// What stands in the file, in the order of its text.
#[derive(Default)]
pub(super) struct Layers<'v, 't> {
    sources: Vec<(Layer, Source<'v, 't>)>,
}

enum Source<'v, 't> {
    /// A policy file by its name.
    File(&'v Placed<'t>),
    /// The text of a document.
    Text(&'v Placed<'t>),
    /// Lists of rules.
    Lists(Vec<(Effect, &'v Placed<'t>)>),
}

fn layer(name: &str) -> Layer {
    match name {
        "team" => Layer::Team,
        "session" => Layer::Session,
        "local" => Layer::Local,
        "project" => Layer::Project,
        // The reader hands over names of `LAYERS` only.
        _ => Layer::User,
    }
}

impl<'v, 't> Layers<'v, 't> {
    /// `rules = "file"`: a team policy, the usual thing to test.
    pub(super) fn rules(&mut self, reader: &mut Reader<'_>, value: &'v Placed<'t>) {
        self.files(reader, Layer::Team, value, "rules");
    }

    fn files(&mut self, reader: &mut Reader<'_>, layer: Layer, value: &'v Placed<'t>, key: &str) {
        match value.get_ref() {
            DeValue::String(_) => self.sources.push((layer, Source::File(value))),
            DeValue::Array(entries) => {
                let strings = entries.iter().filter(|entry| reader.string(entry, key).is_some());
                self.sources.extend(strings.map(|entry| (layer, Source::File(entry))));
            }
            _ => reader.fault(
                value.span(),
                format!("`{key}` names a policy file, or several"),
                Some("write `\"file.jsonc\"`; rules that stand here go into `[layers.team]`"),
            ),
        }
    }

    /// `[layers.local]` and its kin.
    pub(super) fn layers(&mut self, reader: &mut Reader<'_>, value: &'v Placed<'t>) {
        let Some(table) = reader.table(value, "layers") else {
            return;
        };
        reader.keys(table, "`layers`", &[&LAYERS], |reader, name, value| {
            let layer = layer(name);
            let DeValue::Table(table) = value.get_ref() else {
                return self.files(reader, layer, value, name);
            };
            let mut lists = Vec::new();
            let known = ["file", "text", "allow", "ask", "deny"];
            reader.keys(table, &format!("`layers.{name}`"), &[&known], |reader, key, value| {
                let effect = match key {
                    "file" => return self.files(reader, layer, value, key),
                    "text" => {
                        if reader.string(value, key).is_some() {
                            self.sources.push((layer, Source::Text(value)));
                        }
                        return;
                    }
                    "allow" => Effect::Allow,
                    "ask" => Effect::Ask,
                    _ => Effect::Deny,
                };
                if reader.array(value, key).is_some() {
                    lists.push((effect, value));
                }
            });
            if !lists.is_empty() {
                self.sources.push((layer, Source::Lists(lists)));
            }
        });
    }

    /// Reads them all.
    pub(super) fn documents(
        self,
        reader: &mut Reader<'_>,
        files: &mut FindPolicy<'_>,
        root: &AbsPath,
        home: Option<&AbsPath>,
    ) -> Documents {
        let mut out = Vec::new();
        for (layer, source) in self.sources {
            let origin = |name: &str| DocumentOrigin {
                layer,
                name: name.to_owned(),
                folder: folder(layer, root, home),
            };
            let document = match source {
                Source::File(value) => {
                    let Some(name) = reader.string(value, "file") else {
                        continue;
                    };
                    match files(name) {
                        Ok(file) => {
                            reader.texts.push((layer, file.text.clone()));
                            named(reader, &file.text, origin(&file.name))
                        }
                        Err(why) => {
                            reader.fault(value.span(), format!("cannot read the policy `{name}`: {why}"), None);
                            None
                        }
                    }
                }
                Source::Text(value) => {
                    let name = reader.name;
                    let text = reader.string(value, "text").unwrap_or_default().to_owned();
                    reader.texts.push((layer, text));
                    whole(reader, value, origin(name))
                }
                Source::Lists(lists) => {
                    let name = reader.name;
                    let mut permissions = serde_json::Map::new();
                    for (effect, list) in &lists {
                        let list = json(list.get_ref()).unwrap_or_default();
                        permissions.insert(effect.to_string(), list);
                    }
                    let text = serde_json::json!({ "permissions": permissions });
                    reader.texts.push((layer, text.to_string()));
                    Some(of_lists(reader, &lists, origin(name)))
                }
            };
            out.extend(document.map(Arc::new));
        }
        out
    }
}

/// What `/x` stands for in a document of a layer, as on a host.
pub(super) fn folder(layer: Layer, root: &AbsPath, home: Option<&AbsPath>) -> Option<AbsPath> {
    match layer {
        Layer::Local | Layer::Project => Some(root.clone()),
        Layer::User => home.map(|home| home.join(".config/portcullis")),
        Layer::Builtin | Layer::Team | Layer::Session => None,
    }
}

/// A document of its own file.
fn named(reader: &mut Reader<'_>, text: &str, origin: DocumentOrigin) -> Option<PolicyDocument> {
    let name = origin.name.clone();
    match PolicyDocument::parse(text, origin) {
        Ok(document) => Some(document),
        Err(faults) => {
            reader.faults.extend(faults.into_iter().map(|fault| TestFault {
                document: Some(name.clone()),
                fault,
            }));
            None
        }
    }
}

/// A document that stands in the file of tests: its lines are moved to where they stand there.
fn whole(reader: &mut Reader<'_>, value: &Placed<'_>, origin: DocumentOrigin) -> Option<PolicyDocument> {
    let text = reader.string(value, "text")?;
    let whole = text.len();
    let inner = reader.inside(value, text, &(0..whole));
    // Where escapes shift the text, all that can be said is which string it is.
    let exact = inner.len() == whole;
    let (first, column) = reader.position(inner.start);
    match PolicyDocument::parse(text, origin) {
        Ok(mut document) => {
            for rule in &mut document.rules {
                let source = &mut rule.source;
                if !exact {
                    (source.line, source.column) = (first, column);
                } else {
                    if source.line <= 1 {
                        source.column += column.saturating_sub(1);
                    }
                    source.line = source.line.max(1).saturating_add(first.saturating_sub(1));
                }
            }
            Some(document)
        }
        Err(faults) => {
            for Fault {
                span, message, hint, ..
            } in faults
            {
                let span = if exact {
                    inner.start + span.start..inner.start + span.end
                } else {
                    inner.clone()
                };
                reader.fault(span, message, hint.as_deref());
            }
            None
        }
    }
}

/// A document out of lists of rules.
fn of_lists(reader: &mut Reader<'_>, lists: &[(Effect, &Placed<'_>)], origin: DocumentOrigin) -> PolicyDocument {
    let mut placed = Vec::new();
    let mut values = Vec::new();
    for (effect, list) in lists {
        for entry in reader.array(list, "a list of rules").unwrap_or_default() {
            let (mut rule, mut name, mut advice) = (None, None, None);
            match entry.get_ref() {
                DeValue::Table(table) => {
                    let known = ["rule", "name", "advice"];
                    reader.keys(table, "a rule", &[&known], |reader, key, value| match key {
                        "rule" => rule = reader.string(value, key).map(|text| (text, value)),
                        "name" => name = reader.string(value, key).map(str::to_owned),
                        _ => advice = reader.string(value, key).map(str::to_owned),
                    });
                    if rule.is_none() {
                        reader.fault(entry.span(), "the rule is missing its `rule`", None);
                    }
                }
                DeValue::String(text) => rule = Some((text.as_ref(), entry)),
                _ => reader.fault(entry.span(), "a rule is a string or a table", None),
            }
            if let Some((text, value)) = rule {
                let (line, column) = reader.position(value.span().start);
                placed.push(PlacedRule {
                    effect: *effect,
                    text: text.to_owned(),
                    name,
                    advice,
                    line,
                    column,
                });
                values.push((text, value));
            }
        }
    }
    let (document, faults) = PolicyDocument::from_placed_rules(placed, origin);
    for (index, fault) in faults {
        if let Some((text, value)) = values.get(index) {
            let span = reader.inside(value, text, &fault.span);
            reader.fault(span, fault.message, fault.hint.as_deref());
        }
    }
    document
}
