//! How to reach an API server, and how to talk to it.

#![forbid(unsafe_code)]

pub mod config;
