//! The classifier: who is asked instead of a person in the automatic modes.
//!
//! It is a seam. The only one built in is [`NoneConfigured`], with which those modes ask persons. What it says is an enum,
//! and the engine decides what it may decide about: never protected or critical paths, and nothing that a rule speaks of.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use portcullis_policy::mode::ClassifierVerdict;
use portcullis_proto::convert::Question;

/// A classifier that gave no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ClassifierFailure(pub String);

/// What decides instead of a person in the automatic modes.
pub trait Classifier: Send + Sync + 'static {
    /// Whether there is one at all.
    fn is_configured(&self) -> bool;

    /// Judges a call. Whoever asks waits only so long, and takes lateness for a failure.
    fn classify(&self, question: Arc<Question>) -> BoxFuture<'static, Result<ClassifierVerdict, ClassifierFailure>>;
}

/// No classifier.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoneConfigured;

impl Classifier for NoneConfigured {
    fn is_configured(&self) -> bool {
        false
    }

    fn classify(&self, _: Arc<Question>) -> BoxFuture<'static, Result<ClassifierVerdict, ClassifierFailure>> {
        Box::pin(async { Err(ClassifierFailure("none is configured".to_owned())) })
    }
}
