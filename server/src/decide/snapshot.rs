//! Merged rulesets, kept between calls.
//!
//! Reading and merging documents costs far more than judging a call, and the same documents come with every call of a
//! session. So read documents are kept by their digest and place, merged rulesets by all that went into them. Both
//! caches are bounded and forget what was not used for longest; an entry is never wrong, as its key holds everything
//! that it was made from.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use lru::LruCache;
use portcullis_policy::{DocumentOrigin, EffectiveRuleset, Fault, Layer, PolicyDocument, import::import};
use portcullis_proto::convert::{DocumentFormat, HostDocument, Question};
use sha2::{Digest as _, Sha256};

use crate::policies::{TeamPolicy, Unusable};

type Key = [u8; 32];

/// A document as far as it could be read, and what is wrong with it.
#[derive(Clone)]
struct ReadDocument {
    document: Arc<PolicyDocument>,
    faults: Arc<[Fault]>,
}

/// The caches.
pub struct Snapshots {
    documents: Mutex<LruCache<Key, ReadDocument>>,
    rulesets: Mutex<LruCache<Key, Arc<EffectiveRuleset>>>,
}

/// What is in force for a call.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) ruleset: Arc<EffectiveRuleset>,
    /// What it was merged from.
    pub(super) documents: Vec<Arc<PolicyDocument>>,
    /// Documents with faults, of which only denies and asks count: `file:line:column: fault`, the first fault of each.
    pub(super) faults: Vec<String>,
}

impl Snapshots {
    /// Keeps at most so many merged rulesets, and as many documents.
    #[must_use]
    pub fn new(entries: usize) -> Self {
        let entries = NonZeroUsize::new(entries).unwrap_or(NonZeroUsize::MIN);
        Self {
            documents: Mutex::new(LruCache::new(entries)),
            rulesets: Mutex::new(LruCache::new(entries)),
        }
    }

    /// The ruleset for a call under a team policy.
    pub(super) fn compile(&self, policy: &TeamPolicy, question: &Question) -> Result<Compiled, Unusable> {
        let team = policy.document.clone()?;
        let host_documents = question.host.as_ref().map_or(&[][..], |host| &host.documents);
        let trusted = question.request.facts.project_trusted;

        let mut parts = KeyBuilder::new("ruleset");
        parts.add(&policy.version.to_be_bytes());
        parts.add(policy.digest.as_bytes());
        parts.add(&[u8::from(trusted)]);
        let mut documents: Vec<Arc<PolicyDocument>> = team.into_iter().collect();
        let mut faults = Vec::new();
        for document in host_documents {
            let key = document_key(document);
            let read = self.read(key, document);
            if !read.faults.is_empty() {
                faults.push(first_fault(document, &read.faults));
            }
            documents.push(read.document);
            parts.add(&key);
        }
        if let Some(session) = &question.session_document {
            parts.add(&[u8::from(session.settings.controls.approve_mcp_servers)]);
            for rule in &session.rules {
                parts.add(rule.effect.to_string().as_bytes());
                parts.add(rule.source.text.as_bytes());
            }
            documents.push(Arc::new(session.clone()));
        }
        let key = parts.finish();
        // The lock is not held while a ruleset is merged: two callers may both do it, and the result is the same.
        if let Some(ruleset) = lock(&self.rulesets).get(&key).cloned() {
            return Ok(Compiled {
                ruleset,
                documents,
                faults,
            });
        }
        let ruleset = Arc::new(EffectiveRuleset::merge(&documents, trusted));
        lock(&self.rulesets).put(key, ruleset.clone());
        Ok(Compiled {
            ruleset,
            documents,
            faults,
        })
    }

    fn read(&self, key: Key, document: &HostDocument) -> ReadDocument {
        if let Some(read) = lock(&self.documents).get(&key).cloned() {
            return read;
        }
        let read = read_document(document);
        lock(&self.documents).put(key, read.clone());
        read
    }
}

/// Reads a document as far as it can be read.
fn read_document(document: &HostDocument) -> ReadDocument {
    let (text, origin) = (&*document.text, document.origin.clone());
    let (document, faults) = match document.format {
        DocumentFormat::Native => match PolicyDocument::parse(text, origin.clone()) {
            Ok(read) => (read, Vec::new()),
            // What it surely denies stays denied; what it may deny besides is why nothing is allowed.
            Err(faults) => (PolicyDocument::restrictions(text, origin), faults),
        },
        DocumentFormat::Ignore => PolicyDocument::parse_ignore_file(text, origin),
        DocumentFormat::Sandbox => match PolicyDocument::parse_sandbox_file(text, origin.clone()) {
            Ok(read) => (read, Vec::new()),
            // What it narrows is not known, so nothing is allowed.
            Err(faults) => (PolicyDocument::restrictions("{}", origin), faults),
        },
        DocumentFormat::Agent(format) => {
            let imported = import(format, text, origin);
            let faults = imported.faults();
            let mut document = imported.document;
            // The files are those of the agent that calls, so the mode it starts in may count here; a mode that the agent
            // states goes before it.
            document.settings.default_mode = document.settings.default_mode.or(imported.mode);
            document.settings.forbidden_modes = imported.forbidden_modes;
            document.settings.installed = is_installed(&document.origin);
            document.settings.installed_rules_only = imported.installed_rules_only;
            (document, faults)
        }
    };
    ReadDocument {
        document: Arc::new(document),
        faults: faults.into(),
    }
}

/// Whether a document lies where only an administrator of the machine writes. The host sends such files as the person's.
fn is_installed(origin: &DocumentOrigin) -> bool {
    let folders = ["/etc/", "/Library/Application Support/"];
    origin.layer == Layer::User && folders.iter().any(|folder| origin.name.starts_with(folder))
}

/// Locks. A panic while a cache was locked leaves it whole: each use is one call of it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn first_fault(document: &HostDocument, faults: &[Fault]) -> String {
    let name = &document.origin.name;
    let more = match faults.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    faults.first().map_or_else(
        || format!("{name}: cannot be read"),
        |fault| format!("{name}:{}:{}: {}{more}", fault.line, fault.column, fault.message),
    )
}

/// The same text means something else in another layer or folder.
fn document_key(document: &HostDocument) -> Key {
    let origin = &document.origin;
    let mut key = KeyBuilder::new("document");
    key.add(&document.digest);
    key.add(format!("{:?}", document.format).as_bytes());
    key.add(origin.layer.to_string().as_bytes());
    key.add(origin.name.as_bytes());
    key.add(origin.folder.as_ref().map_or("", |folder| folder.as_str()).as_bytes());
    key.finish()
}

/// A digest of parts. Each part goes in with its length, so that no two lists of parts run together.
struct KeyBuilder(Sha256);

impl KeyBuilder {
    fn new(purpose: &str) -> Self {
        let mut key = Self(Sha256::new());
        key.add(purpose.as_bytes());
        key
    }

    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    fn finish(self) -> Key {
        self.0.finalize().into()
    }
}
