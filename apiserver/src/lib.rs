//! An embedded Kubernetes API server.

#![forbid(unsafe_code)]

pub mod schema;
