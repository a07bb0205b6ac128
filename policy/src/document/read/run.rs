//! Reads what a document says about run modes, the sandbox and the protections that go with them.
//!
//! What a project may say is settled here: it narrows and never widens, as whoever writes to the project writes it.

use jsonc_parser::{
    ast::{Object, ObjectProp},
    common::Ranged as _,
};

use super::{super::keys, Reader, range};
use crate::{Mode, mode::Guard, sandbox::SandboxSettings};

impl Reader<'_> {
    pub(super) fn modes(&mut self, object: &Object<'_>) {
        self.keys(object, &keys::MODES, |this, key, property| match key {
            "auto" => {
                if let Some(on) = this.switch(key, property, false) {
                    this.list.document.settings.run.auto = Some(on);
                }
            }
            _ => this.permitted(property),
        });
    }

    fn permitted(&mut self, property: &ObjectProp<'_>) {
        let Some(array) = self.array(&property.value, "permitted") else {
            return;
        };
        if array.elements.is_empty() {
            self.fault(
                range(array),
                "no mode would be permitted: every call would be denied",
                Some("name at least one mode"),
            );
        }
        let modes: Vec<Mode> = array
            .elements
            .iter()
            .filter_map(|element| self.mode(element, "permitted"))
            .collect();
        self.list.document.settings.permitted_modes = Some(modes);
    }

    pub(super) fn sandbox(&mut self, object: &Object<'_>) {
        let mut settings = SandboxSettings::default();
        self.keys(object, &keys::SANDBOX, |this, key, property| match key {
            // That everything runs in the sandbox narrows, so every layer may say it; that it does not says nothing.
            "always" => {
                let on = this.boolean(&property.value, key);
                this.list.document.settings.run.sandbox_always |= on == Some(true);
            }
            "allowTrials" => {
                let allowed = this.boolean(&property.value, key);
                this.list.document.settings.run.trials_forbidden |= allowed == Some(false);
            }
            "autoAllowIfSandboxed" => {
                if let Some(on) = this.switch(key, property, false) {
                    this.list.document.settings.auto_allow_if_sandboxed = Some(on);
                }
            }
            _ => this.sandbox_key(&mut settings, key, property),
        });
        self.list.document.settings.sandbox = settings;
    }

    pub(super) fn protections(&mut self, object: &Object<'_>) {
        self.keys(object, &keys::PROTECTIONS, |this, key, property| {
            if key == "agentDirectories" {
                if let Some(on) = this.boolean(&property.value, key) {
                    this.list.document.settings.protect_agent_directories = Some(on);
                }
                return;
            }
            let guard = Guard::ALL.into_iter().find(|guard| guard.key() == key);
            if let Some((on, guard)) = this.switch(key, property, true).zip(guard) {
                this.list.document.settings.run.set_protection(guard, on);
            }
        });
    }

    /// A switch that documents inside a project may only set to `narrows`.
    fn switch(&mut self, key: &str, property: &ObjectProp<'_>, narrows: bool) -> Option<bool> {
        let on = self.boolean(&property.value, key)?;
        if on == narrows || !self.layer.is_inside_project() {
            return Some(on);
        }
        let word = |on| if on { "on" } else { "off" };
        let span = property.name.start()..property.name.end();
        self.fault(
            span,
            format!("the {} layer can only switch `{key}` {}", self.layer, word(narrows)),
            Some(&format!(
                "switch it {} in your own or the team's policy",
                word(!narrows)
            )),
        );
        None
    }
}
