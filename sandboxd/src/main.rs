//! `portcullis-sandboxd`.
fn main() {}
