//! Faults and findings in a text that somebody wrote, shown where they stand: line, words underlined, way out.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use portcullis_policy::Fault;

use super::output::printable;

/// A fault with its line, the words underlined, and the hint.
pub(crate) fn render(fault: &Fault, level: Level<'static>, text: &str, file: &str) -> String {
    let span = fault.span.start as u64..fault.span.end as u64;
    render_parts(&fault.message, fault.hint.as_deref(), span, level, text, file)
}

/// The same, out of its parts.
pub(crate) fn render_parts(
    message: &str,
    hint: Option<&str>,
    span: std::ops::Range<u64>,
    level: Level<'static>,
    text: &str,
    file: &str,
) -> String {
    // What a server says must not make this program stop: a span outside of the text, or inside a character, is moved to
    // where it can be shown.
    let boundary = |at: u64| {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
        (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
    };
    let start = boundary(span.start);
    let end = boundary(span.end).max(start);
    let mut group = level.primary_title(printable(message).into_owned()).element(
        Snippet::source(text)
            .path(file)
            .annotation(AnnotationKind::Primary.span(start..end)),
    );
    if let Some(hint) = hint.filter(|hint| !hint.is_empty()) {
        group = group.element(Level::HELP.message(printable(hint).into_owned()));
    }
    Renderer::styled().render(&[group])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_outside_of_the_text_is_still_shown() {
        for (start, end) in [(0, 0), (1, 2), (5, 3), (999, 1000), (u64::MAX, u64::MAX)] {
            let text = render_parts("wrong", Some("right"), start..end, Level::ERROR, "ä ü\n", "f.jsonc");
            assert!(text.contains("wrong") && text.contains("right"), "{text}");
        }
    }
}
