//! Reads what a `sandbox.json` says.

use jsonc_parser::{
    ast::{Object, ObjectProp, Value},
    common::Ranged as _,
};

use super::{super::keys, Reader, range};
use crate::{
    network::HostRule,
    path::ReadDenial,
    sandbox::{NetworkMode, NetworkPolicy, SandboxSettings, SandboxType},
};

/// Most entries of a list of paths or hosts.
const MAX_ENTRIES: usize = 1_000;

/// Longest path, pattern or host, in bytes: as long as the kernel takes a path.
const MAX_ENTRY: usize = 4_095;

impl Reader<'_> {
    pub(super) fn sandbox_file(&mut self, object: &Object<'_>) -> SandboxSettings {
        let mut settings = SandboxSettings::default();
        self.keys(object, &keys::SANDBOX_FILE, |this, key, property| {
            this.sandbox_key(&mut settings, key, property);
        });
        settings
    }

    /// One key of a `sandbox.json`, which the section `sandbox` of a policy document holds too.
    pub(super) fn sandbox_key(&mut self, settings: &mut SandboxSettings, key: &str, property: &ObjectProp<'_>) {
        let value = &property.value;
        match key {
            "type" => settings.kind = self.choice(property, key, &SandboxType::WORDS, SandboxType::parse),
            "networkMode" => {
                settings.network_mode = self.choice(property, key, &NetworkMode::WORDS, NetworkMode::parse);
            }
            "additionalReadwritePaths" => settings.read_write = self.path_entries(value, key),
            "additionalReadonlyPaths" => settings.read_only = self.path_entries(value, key),
            "denyRead" => settings.deny_read = self.denials(value, key),
            "disableTmpWrite" => settings.disable_tmp_write = self.boolean(value, key),
            "shareTmp" => settings.share_tmp = self.boolean(value, key),
            "enableSharedBuildCache" => settings.shared_build_cache = self.boolean(value, key),
            "allowRootOwner" => settings.allow_root_owner = self.boolean(value, key),
            "acceptWithoutLandlock" => settings.accept_without_landlock = self.boolean(value, key),
            "acceptWithoutNamespaces" => settings.accept_without_namespaces = self.boolean(value, key),
            "allowUnixSockets" => settings.unix_sockets = self.sockets(value, key),
            "networkPolicy" => {
                if let Some(object) = self.object(value, key) {
                    settings.network = self.network_policy(object);
                }
            }
            _ => {}
        }
    }

    fn network_policy(&mut self, object: &Object<'_>) -> NetworkPolicy {
        let mut policy = NetworkPolicy::default();
        self.keys(object, &keys::NETWORK_POLICY, |this, key, property| match key {
            "default" => {
                let read = |word: &str| match word {
                    "allow" => Some(true),
                    "deny" => Some(false),
                    _ => None,
                };
                policy.default_allow = this.choice(property, key, &["allow", "deny"], read);
            }
            "allow" => policy.allow = Some(this.hosts(&property.value, key)),
            _ => policy.deny = this.hosts(&property.value, key),
        });
        policy
    }

    /// One of a few words.
    fn choice<T>(
        &mut self,
        property: &ObjectProp<'_>,
        key: &str,
        words: &[&str],
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let word = self.string(&property.value, key)?;
        let found = read(word);
        if found.is_none() {
            let hint = format!("write one of {}", words.join(", "));
            self.fault(range(&property.value), format!("`{word}` is no `{key}`"), Some(&hint));
        }
        found
    }

    /// A list of texts that are not empty.
    fn path_entries(&mut self, value: &Value<'_>, key: &str) -> Vec<String> {
        let mut entries = Vec::new();
        self.each(value, key, |this, element, text| {
            if text.contains('\0') {
                this.fault(range(element), "no path holds a NUL", None);
            } else {
                entries.push(text.to_owned());
            }
        });
        entries
    }

    /// A list of paths of sockets; `None` if it is no list.
    fn sockets(&mut self, value: &Value<'_>, key: &str) -> Option<Vec<String>> {
        let mut entries = Vec::new();
        self.each(value, key, |this, element, text| {
            if text.contains(['*', '?', '[', '\0']) {
                let hint = "write the whole path of one socket";
                this.fault(range(element), format!("an entry of `{key}` is no pattern"), Some(hint));
            } else if text.ends_with('/') {
                this.fault(
                    range(element),
                    "a socket is no folder",
                    Some("write the whole path of one socket"),
                );
            } else {
                entries.push(text.to_owned());
            }
        });
        matches!(value, Value::Array(_)).then_some(entries)
    }

    /// A list of paths and patterns that a host will be able to read.
    fn denials(&mut self, value: &Value<'_>, key: &str) -> Vec<String> {
        let mut entries = Vec::new();
        self.each(value, key, |this, element, text| match ReadDenial::is_entry(text) {
            Ok(()) => entries.push(text.to_owned()),
            Err(invalid) => this.fault(range(element), invalid.message, invalid.hint.as_deref()),
        });
        entries
    }

    fn hosts(&mut self, value: &Value<'_>, key: &str) -> Vec<HostRule> {
        let mut hosts = Vec::new();
        self.each(value, key, |this, element, text| match HostRule::parse(text) {
            Ok(rule) => hosts.push(rule),
            Err((span, message, hint)) => {
                let span = this.inside(element, text, &span);
                this.fault(span, message, hint.as_deref());
            }
        });
        hosts
    }

    /// Calls `read` for every text of a list.
    fn each<'v, 't>(
        &mut self,
        value: &'v Value<'t>,
        key: &str,
        mut read: impl FnMut(&mut Self, &'v Value<'t>, &'v str),
    ) {
        let Some(array) = self.array(value, key) else { return };
        if let Some(first_too_many) = array.elements.get(MAX_ENTRIES) {
            let span = first_too_many.start()..array.end();
            self.fault(span, format!("`{key}` holds more than {MAX_ENTRIES} entries"), None);
            return;
        }
        for element in &array.elements {
            let Some(text) = self.string(element, key) else {
                continue;
            };
            if text.trim().is_empty() || text.len() > MAX_ENTRY {
                let message = format!("an entry of `{key}` holds between 1 and {MAX_ENTRY} bytes");
                self.fault(range(element), message, None);
            } else {
                read(self, element, text);
            }
        }
    }
}
