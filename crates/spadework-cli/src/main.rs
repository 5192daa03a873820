//! The `spadework` command.
fn main() {}
