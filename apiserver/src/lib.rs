//! An embedded Kubernetes API server.

#![forbid(unsafe_code)]
#![allow(dead_code)]

pub mod apply;
mod failure;
mod meta;
mod options;
pub mod patch;
mod request;
mod storage;
mod watch;

pub mod schema;
