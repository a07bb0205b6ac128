//! Paths that always need a person, and which of them the sandbox keeps read-only.
