//! Lariat with the types that people already have: `tests/` has those of `k8s-openapi`, `examples/from_kube.rs` a controller that was
//! written for kube-rs.
//!
//! `cargo test --manifest-path runtime/interop/Cargo.toml` runs them, and `--no-default-features` beside it without kube.

#![forbid(unsafe_code)]
