//! An embedded Kubernetes API server.

#![forbid(unsafe_code)]

pub mod builtin;
pub mod schema;
