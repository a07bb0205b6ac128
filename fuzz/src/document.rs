//! Policy documents.

use portcullis_policy::{AbsPath, DocumentOrigin, Effect, Layer, PolicyDocument, document::CannotPrint};

/// Any text is a document or has faults, each of which underlines a part of it; what is kept of a faulty document, and of a
/// document of an agent, never allows more than the whole; and a document that is printed is read as the same one.
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
                prints(text, &document);
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

/// What is printed is read as the same document.
fn prints(text: &str, document: &PolicyDocument) {
    match document.print() {
        Ok(printed) => match PolicyDocument::parse(&printed, document.origin.clone()) {
            Ok(again) => assert!(again.says_the_same_as(document), "{text:?} was printed as\n{printed}"),
            Err(found) => panic!("{text:?} was printed as\n{printed}\n{found:#?}"),
        },
        Err(fault) => assert!(fault == CannotPrint::TooLarge, "{text:?} cannot be printed: {fault}"),
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
