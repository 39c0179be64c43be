//! The `quad` binary.
fn main() {}
