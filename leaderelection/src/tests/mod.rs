//! What the Go code answered, and what a token promises.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test fails by panicking

mod config;
mod coordinated;
mod differences;
mod run;
mod server;
mod steps;
