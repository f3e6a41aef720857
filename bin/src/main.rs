//! The `lariat` program: parses the command line, wires the crates together, prints.

fn main() {}
