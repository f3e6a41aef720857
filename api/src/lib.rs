//! The Kubernetes object model.
//!
//! Here lives what an API object is made of and what can be said about it without I/O. No transport, no cache, and
//! nothing of any particular kind of object.

#![forbid(unsafe_code)]

pub mod fields;
pub mod labels;
