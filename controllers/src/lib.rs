//! The Agones API types and the control loops on them.
//!
//! Here live the types ([`types`]), one module for each loop ([`fleetautoscalers`]), and what the loops decide, as plain
//! functions. What a loop is made of (client, cache, queue, workers) is the runtime's.
//!
//! Invariants:
//! - A loop reads from its caches and writes to the API server. It never waits for its own write to come back, and never
//!   takes its cache for newer than it is.
//! - Fields that these types do not know survive a write, and pod templates byte for byte.

#![forbid(unsafe_code)]

pub mod access;
pub mod allocation;
pub mod controllers;
pub mod defaults;
pub mod definitions;
pub mod events;
pub mod fleetautoscalers;
pub mod fleets;
pub mod gameservers;
pub mod gameserversets;
pub mod gates;
mod keys;
pub mod metrics;
pub mod quantity;
pub mod schedule;
pub mod simulated;
pub mod template;
mod time;
pub mod types;
pub mod validation;
