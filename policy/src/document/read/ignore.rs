//! The section `ignore` of a document.

use jsonc_parser::{ast::Object, common::Ranged as _};

use super::{Reader, keys, range};
use crate::path::ignore::IgnoreBase;

impl Reader<'_> {
    pub(super) fn ignore(&mut self, object: &Object<'_>) {
        self.keys(object, &keys::IGNORE, |this, key, property| {
            if key == "hierarchical" {
                if let Some(value) = this.boolean(&property.value, key) {
                    this.list.document.settings.hierarchical_ignore = Some(value);
                }
                return;
            }
            let Some(array) = this.array(&property.value, key) else {
                return;
            };
            this.list.begin(crate::Effect::Deny);
            for element in &array.elements {
                let Some(text) = this.string(element, key) else {
                    continue;
                };
                let (line, column) = this.lines.position(element.start());
                if let Err(fault) = this.list.add_ignore(text, (line, column), IgnoreBase::Everywhere) {
                    let span = this.inside(element, text, &fault.span);
                    this.fault(span, fault.message, fault.hint.as_deref());
                }
            }
            if this.list.document.rules.len() > crate::PolicyDocument::MAX_RULES {
                let fault = format!(
                    "more than {} rules and ignore patterns",
                    crate::PolicyDocument::MAX_RULES
                );
                this.fault(range(array), fault, None);
            }
        });
    }
}
