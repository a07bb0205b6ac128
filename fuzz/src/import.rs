//! Other agents' permission files.

use portcullis_policy::{
    AbsPath, DocumentOrigin, Layer, PolicyDocument,
    import::{Format, import},
};

/// Any text is read, always the same; each note underlines a part of it; and the document of ours that is made of it is
/// one.
///
/// # Panics
/// If that does not hold.
pub fn importer(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    for format in Format::ALL {
        for layer in [Layer::User, Layer::Project] {
            let origin = || DocumentOrigin {
                layer,
                name: "fuzz".to_owned(),
                folder: AbsPath::parse("/w/doc").ok(),
            };
            let imported = import(format, text, origin());
            let again = import(format, text, origin());
            assert_eq!(imported.report, again.report, "the same file, another report: {text:?}");
            assert_eq!(
                imported.native, again.native,
                "the same file, another document: {text:?}"
            );
            for note in &imported.report {
                assert!(
                    text.get(note.span.clone()).is_some(),
                    "{note:?} underlines nothing of {text:?}"
                );
                assert!(note.line >= 1 && note.column >= 1, "{note:?}");
            }
            if let Err(faults) = PolicyDocument::parse(&imported.native, origin()) {
                panic!(
                    "{format:?} in {layer}: {text:?} became a faulty document:\n{}\n{faults:#?}",
                    imported.native
                );
            }
        }
    }
}
