//! Stub to be replaced.
fn main() {}
