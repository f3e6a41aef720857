//! What the measurements share: the data, the server that serves it, and Lariat's side of a comparison.
//!
//! Here live the GameServers and the events that are measured with ([`Data`]), the [`Server`] that sends them as an API
//! server would but does nothing else, and [`peer`], which is Lariat's informer behind the commands that every program of a
//! comparison understands. The programs of others are in `peers/`, outside of the workspace; `README.md` says how they are
//! measured.
//!
//! Invariants:
//! - The same sizes give the same bytes, on every machine.
//! - The server makes nothing while it is measured: every byte was there before.

#![forbid(unsafe_code)]

mod data;
pub mod peer;
pub mod queue;
mod server;
mod template;

pub use data::{Collection, Data, digest_of};
pub use server::{Lists, Server, Stage};
