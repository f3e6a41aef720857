//! An embedded Kubernetes API server.

#![forbid(unsafe_code)]
#![allow(dead_code)]

mod failure;
mod meta;
mod options;
mod request;
mod storage;
