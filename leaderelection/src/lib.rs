//! Leader election: of several replicas of a program one leads, and the others stand by.
//!
//! Here lives the [`Lease`] that the replicas agree by, the [`Elector`] that campaigns for it and keeps it, the [`Leading`] token that
//! the leader's work carries, and what others want to know of it: who leads, health, metrics. The Lease is read and written as
//! client-go does, so candidates of both can share one. Nothing here knows what a leader does.
//!
//! A leader must not trust that it still leads: its machine may have been paused, or its last renewal be long ago. So it asks its
//! token before it writes, or writes through [`Client::fenced`](lariat_client::Client::fenced), which asks for it:
//!
//! ```no_run
//! use lariat_client::{Client, Config};
//! use lariat_leaderelection::{ElectorConfig, LeaseLock, run_as_leader};
//! use std::sync::Arc;
//!
//! # async fn run(shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Config::infer()?)?;
//! let lock = LeaseLock::new(&client, "agones-system", "agones-controller-lock")?;
//! run_as_leader(lock, ElectorConfig::new("pod-7f9c"), shutdown, |leading| {
//!     let client = client.fenced(Arc::new(leading.clone()));
//!     async move {
//!         // Work through `client` until it has to end.
//!         leading.stopping().await;
//!     }
//! })
//! .await?;
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - A token is valid for no longer than [`ElectorConfig::renew_deadline`] from before the last successful write of the Lease was
//!   sent. A read never makes it valid for longer.
//! - A candidate leads only when no other can have a valid token: the Lease was given back, or did not change for as long as it
//!   says that it holds. Where neither is known, it takes the Lease and waits for that long.
//! - The Lease is given back after the work of the leader has ended, not before.
//! - Only the monotonic clock is looked at. Times of day are written, and never compared.

#![forbid(unsafe_code)]

mod candidate;
mod config;
mod coordination;
mod elector;
mod leading;
mod lease;
mod lock;
mod observer;
mod status;
mod time;

pub use config::{ConfigError, ElectorConfig, MissingLease};
pub use coordination::{Coordination, LeaseCandidate, LeaseCandidateSpec};
pub use elector::{Elector, run_as_leader};
pub use leading::{Leading, NotLeading};
pub use lease::{Lease, LeaseSpec};
pub use lock::{LeaseLock, Lock};
pub use observer::{EndReason, Observer};
pub use status::{ElectorHandle, Unhealthy};
pub use time::{Sleep, Time, TokioTime};

#[cfg(test)]
mod tests;
