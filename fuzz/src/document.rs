//! Policy documents.

use portcullis_policy::{AbsPath, DocumentOrigin, Effect, Layer, PolicyDocument};

/// Any text is a document or has faults, each of which underlines a part of it; what is kept of a faulty document, and of a
/// document of an agent, never allows more than the whole.
///
/// # Panics
/// If that does not hold.
pub fn document(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    for layer in Layer::ALL {
        let origin = || DocumentOrigin {
            layer,
            name: "fuzz".to_owned(),
            folder: AbsPath::parse("/w/doc").ok(),
        };
        match PolicyDocument::parse(text, origin()) {
            Ok(document) => {
                assert!(document.rules.len() <= PolicyDocument::MAX_RULES);
                faults(text, &document.warnings);
            }
            Err(found) => {
                assert!(!found.is_empty(), "refused without a reason: {text:?}");
                faults(text, &found);
            }
        }
        let kept = PolicyDocument::restrictions(text, origin());
        assert!(
            kept.rules.iter().all(|rule| rule.effect != Effect::Allow),
            "what is kept of a faulty document allows something: {text:?}"
        );
    }
}

fn faults(text: &str, faults: &[portcullis_policy::Fault]) {
    for fault in faults {
        assert!(
            text.get(fault.span.clone()).is_some(),
            "{fault:?} underlines nothing of {text:?}"
        );
        assert!(fault.line >= 1 && fault.column >= 1 && !fault.message.is_empty());
    }
}
