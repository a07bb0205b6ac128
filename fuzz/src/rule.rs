//! Rules.

use portcullis_policy::{
    Effect,
    rule::{InvalidRule, parse},
};

/// Any text is a rule or a fault, always the same, and the fault underlines a part of the text. A text that is a rule for
/// an allow is one for a deny as well: denying is never harder to write than allowing.
///
/// # Panics
/// If that does not hold.
pub fn rule(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    let parsed = [Effect::Allow, Effect::Ask, Effect::Deny].map(|effect| {
        let parsed = parse(text, effect);
        assert_eq!(format!("{parsed:?}"), format!("{:?}", parse(text, effect)));
        if let Err(InvalidRule { span, message, .. }) = &parsed {
            assert!(text.get(span.clone()).is_some(), "{text:?}: underlines {span:?}");
            assert!(!message.is_empty());
        }
        parsed.is_ok()
    });
    assert!(!parsed[0] || parsed[2], "{text:?} can be allowed and not denied");
}
