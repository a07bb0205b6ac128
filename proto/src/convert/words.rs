//! The closed sets of both sides, one to one.
//!
//! Numbers that the wire does not define are refused, never read as something near.

use portcullis_policy::{
    DecidedBy, Layer, Mode, Verdict, facts::PathKind, facts::SandboxOffer, import::Format, request::Interactivity,
};

use super::{InvalidMessage, facts::DocumentFormat};
use crate::v1;

/// A verdict on the wire.
#[must_use]
pub fn effect_of(verdict: Verdict) -> v1::Effect {
    match verdict {
        Verdict::Allow => v1::Effect::Allow,
        Verdict::Ask => v1::Effect::Ask,
        Verdict::Deny => v1::Effect::Deny,
    }
}

/// Reads a verdict from the wire.
///
/// # Errors
/// For an unspecified or unknown number, which is never an allow.
pub fn verdict_from_wire(effect: i32) -> Result<Verdict, InvalidMessage> {
    match v1::Effect::try_from(effect) {
        Ok(v1::Effect::Allow) => Ok(Verdict::Allow),
        Ok(v1::Effect::Ask) => Ok(Verdict::Ask),
        Ok(v1::Effect::Deny) => Ok(Verdict::Deny),
        Ok(v1::Effect::Unspecified) | Err(_) => Err(InvalidMessage::new("effect", "is not allow, ask or deny")),
    }
}

/// A run mode on the wire.
#[must_use]
pub fn mode_of(mode: Mode) -> v1::Mode {
    match mode {
        Mode::Default => v1::Mode::Default,
        Mode::AcceptEdits => v1::Mode::AcceptEdits,
        Mode::Plan => v1::Mode::Plan,
        Mode::DontAsk => v1::Mode::DontAsk,
        Mode::Bypass => v1::Mode::Bypass,
        Mode::Auto => v1::Mode::Auto,
        Mode::AutoReview => v1::Mode::AutoReview,
        Mode::Allowlist => v1::Mode::Allowlist,
        Mode::AllowlistSandbox => v1::Mode::AllowlistSandbox,
        Mode::RunEverything => v1::Mode::RunEverything,
    }
}

/// Reads a run mode; unspecified is the default mode.
///
/// # Errors
/// For an unknown number.
pub fn mode_from_wire(mode: i32) -> Result<Mode, InvalidMessage> {
    match v1::Mode::try_from(mode) {
        Ok(v1::Mode::Unspecified | v1::Mode::Default) => Ok(Mode::Default),
        Ok(v1::Mode::AcceptEdits) => Ok(Mode::AcceptEdits),
        Ok(v1::Mode::Plan) => Ok(Mode::Plan),
        Ok(v1::Mode::DontAsk) => Ok(Mode::DontAsk),
        Ok(v1::Mode::Bypass) => Ok(Mode::Bypass),
        Ok(v1::Mode::Auto) => Ok(Mode::Auto),
        Ok(v1::Mode::AutoReview) => Ok(Mode::AutoReview),
        Ok(v1::Mode::Allowlist) => Ok(Mode::Allowlist),
        Ok(v1::Mode::AllowlistSandbox) => Ok(Mode::AllowlistSandbox),
        Ok(v1::Mode::RunEverything) => Ok(Mode::RunEverything),
        Err(_) => Err(unknown("mode", mode)),
    }
}

/// Whether a person can be asked, on the wire.
#[must_use]
pub fn interactivity_of(interactivity: Interactivity) -> v1::Interactivity {
    match interactivity {
        Interactivity::Interactive => v1::Interactivity::Interactive,
        Interactivity::Headless => v1::Interactivity::Headless,
    }
}

/// Reads whether a person can be asked; unspecified is interactive.
///
/// # Errors
/// For an unknown number.
pub fn interactivity_from_wire(interactivity: i32) -> Result<Interactivity, InvalidMessage> {
    match v1::Interactivity::try_from(interactivity) {
        Ok(v1::Interactivity::Unspecified | v1::Interactivity::Interactive) => Ok(Interactivity::Interactive),
        Ok(v1::Interactivity::Headless) => Ok(Interactivity::Headless),
        Err(_) => Err(unknown("interactivity", interactivity)),
    }
}

/// A layer on the wire.
#[must_use]
pub fn layer_of(layer: Layer) -> v1::Layer {
    match layer {
        Layer::User => v1::Layer::User,
        Layer::Project => v1::Layer::Project,
        Layer::Local => v1::Layer::Local,
        Layer::Session => v1::Layer::Session,
        Layer::Team => v1::Layer::Team,
        Layer::Builtin => v1::Layer::Builtin,
    }
}

/// Reads a layer.
///
/// # Errors
/// For an unspecified or unknown number.
pub fn layer_from_wire(layer: i32) -> Result<Layer, InvalidMessage> {
    match v1::Layer::try_from(layer) {
        Ok(v1::Layer::User) => Ok(Layer::User),
        Ok(v1::Layer::Project) => Ok(Layer::Project),
        Ok(v1::Layer::Local) => Ok(Layer::Local),
        Ok(v1::Layer::Session) => Ok(Layer::Session),
        Ok(v1::Layer::Team) => Ok(Layer::Team),
        Ok(v1::Layer::Builtin) => Ok(Layer::Builtin),
        Ok(v1::Layer::Unspecified) | Err(_) => Err(unknown("layer", layer)),
    }
}

/// The format of a host's document.
///
/// # Errors
/// If the number stands for none.
pub(super) fn document_format_from_wire(format: i32) -> Result<DocumentFormat, InvalidMessage> {
    use v1::DocumentFormat as Wire;
    Ok(match Wire::try_from(format) {
        Ok(Wire::Native) => DocumentFormat::Native,
        Ok(Wire::IgnoreFile) => DocumentFormat::Ignore,
        Ok(Wire::SandboxFile) => DocumentFormat::Sandbox,
        Ok(Wire::ClaudeSettings) => DocumentFormat::Agent(Format::ClaudeSettings),
        Ok(Wire::CuspSettings) => DocumentFormat::Agent(Format::Cusp),
        Ok(Wire::CursorCli) => DocumentFormat::Agent(Format::CursorCli),
        Ok(Wire::CursorPermissions) => DocumentFormat::Agent(Format::CursorDesktop),
        Ok(Wire::CodexRules) => DocumentFormat::Agent(Format::CodexRules),
        Ok(Wire::CodexConfig) => DocumentFormat::Agent(Format::CodexConfig),
        Ok(Wire::CodexRequirements) => DocumentFormat::Agent(Format::CodexRequirements),
        Ok(Wire::GeminiPolicy) => DocumentFormat::Agent(Format::GeminiPolicy),
        Ok(Wire::GeminiSettings) => DocumentFormat::Agent(Format::GeminiSettings),
        Ok(Wire::Unspecified) | Err(_) => return Err(unknown("document format", format)),
    })
}

/// Who decided, on the wire.
#[must_use]
pub fn decided_by_of(decided_by: DecidedBy) -> v1::DecidedBy {
    match decided_by {
        DecidedBy::Rule => v1::DecidedBy::Rule,
        DecidedBy::Mode => v1::DecidedBy::Mode,
        DecidedBy::Protection => v1::DecidedBy::Protection,
        DecidedBy::Control => v1::DecidedBy::Control,
        DecidedBy::Sandbox => v1::DecidedBy::Sandbox,
        DecidedBy::Classifier => v1::DecidedBy::Classifier,
        DecidedBy::Failure => v1::DecidedBy::Failure,
    }
}

/// Reads who decided.
///
/// # Errors
/// For an unspecified or unknown number.
pub fn decided_by_from_wire(decided_by: i32) -> Result<DecidedBy, InvalidMessage> {
    match v1::DecidedBy::try_from(decided_by) {
        Ok(v1::DecidedBy::Rule) => Ok(DecidedBy::Rule),
        Ok(v1::DecidedBy::Mode) => Ok(DecidedBy::Mode),
        Ok(v1::DecidedBy::Protection) => Ok(DecidedBy::Protection),
        Ok(v1::DecidedBy::Control) => Ok(DecidedBy::Control),
        Ok(v1::DecidedBy::Sandbox) => Ok(DecidedBy::Sandbox),
        Ok(v1::DecidedBy::Classifier) => Ok(DecidedBy::Classifier),
        Ok(v1::DecidedBy::Failure) => Ok(DecidedBy::Failure),
        Ok(v1::DecidedBy::Unspecified) | Err(_) => Err(unknown("decided_by", decided_by)),
    }
}

/// What stands at a path, on the wire.
#[must_use]
pub fn path_kind_of(kind: PathKind) -> v1::PathKind {
    match kind {
        PathKind::Unknown => v1::PathKind::Unspecified,
        PathKind::Absent => v1::PathKind::Absent,
        PathKind::File => v1::PathKind::File,
        PathKind::Directory => v1::PathKind::Directory,
        PathKind::Other => v1::PathKind::Other,
    }
}

/// Reads what stands at a path; unspecified is unknown.
///
/// # Errors
/// For an unknown number.
pub fn path_kind_from_wire(kind: i32) -> Result<PathKind, InvalidMessage> {
    match v1::PathKind::try_from(kind) {
        Ok(v1::PathKind::Unspecified) => Ok(PathKind::Unknown),
        Ok(v1::PathKind::Absent) => Ok(PathKind::Absent),
        Ok(v1::PathKind::File) => Ok(PathKind::File),
        Ok(v1::PathKind::Directory) => Ok(PathKind::Directory),
        Ok(v1::PathKind::Other) => Ok(PathKind::Other),
        Err(_) => Err(unknown("kind", kind)),
    }
}

/// What a host's sandbox is worth to the engine; unspecified is none.
///
/// # Errors
/// For an unknown number.
pub fn sandbox_offer_from_wire(status: i32) -> Result<SandboxOffer, InvalidMessage> {
    match v1::EnforcementStatus::try_from(status) {
        Ok(v1::EnforcementStatus::Full) => Ok(SandboxOffer::Full),
        Ok(v1::EnforcementStatus::Partial) => Ok(SandboxOffer::Partial),
        Ok(v1::EnforcementStatus::Unspecified | v1::EnforcementStatus::None) => Ok(SandboxOffer::None),
        Err(_) => Err(unknown("status", status)),
    }
}

/// The complaint about a number that nothing stands for.
fn unknown(field: &str, number: i32) -> InvalidMessage {
    InvalidMessage::new(field, format!("the number {number} stands for nothing known here"))
}

impl InvalidMessage {
    /// The same fault under the field's whole path.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back_from_the_wire() {
        for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            assert_eq!(verdict_from_wire(effect_of(verdict).into()), Ok(verdict));
        }
        for mode in Mode::ALL {
            assert_eq!(mode_from_wire(mode_of(mode).into()), Ok(mode));
        }
        for layer in Layer::ALL {
            assert_eq!(layer_from_wire(layer_of(layer).into()), Ok(layer));
        }
        for who in [Interactivity::Interactive, Interactivity::Headless] {
            assert_eq!(interactivity_from_wire(interactivity_of(who).into()), Ok(who));
        }
        for who in [
            DecidedBy::Rule,
            DecidedBy::Mode,
            DecidedBy::Protection,
            DecidedBy::Control,
            DecidedBy::Sandbox,
            DecidedBy::Classifier,
            DecidedBy::Failure,
        ] {
            assert_eq!(decided_by_from_wire(decided_by_of(who).into()), Ok(who));
        }
        for kind in [
            PathKind::Unknown,
            PathKind::Absent,
            PathKind::File,
            PathKind::Directory,
            PathKind::Other,
        ] {
            assert_eq!(path_kind_from_wire(path_kind_of(kind).into()), Ok(kind));
        }
    }

    #[test]
    fn numbers_without_meaning_are_refused() {
        for number in [-1, 99, i32::MIN, i32::MAX] {
            assert!(verdict_from_wire(number).is_err() && mode_from_wire(number).is_err());
            assert!(layer_from_wire(number).is_err() && interactivity_from_wire(number).is_err());
            assert!(decided_by_from_wire(number).is_err() && path_kind_from_wire(number).is_err());
            assert!(sandbox_offer_from_wire(number).is_err());
        }
        assert!(verdict_from_wire(0).is_err() && layer_from_wire(0).is_err() && decided_by_from_wire(0).is_err());
    }
}
