//! The loops that give servers their pods, ports and addresses, watch over them and take them away (reference 2).

pub mod address;
mod cache;
mod context;
pub mod counters;
mod health;
pub mod migration;
mod missing_pod;
mod node_counts;
pub mod order;
pub mod pod;
pub mod ports;
pub mod predicates;
mod run;
mod settings;
mod sync;

pub use cache::Writes;
pub use context::{Context, Outcome, SyncError};
pub use node_counts::PerNodeCounter;
pub use run::GameServers;
pub use settings::PodSettings;
