//! An embedded Kubernetes API server.

#![forbid(unsafe_code)]

mod answer;
pub mod apply;
mod background;
pub mod builtin;
mod context;
mod discovery;
mod failure;
mod form;
mod handle;
mod kinds;
mod meta;
mod options;
pub mod patch;
mod reply;
mod request;
pub mod schema;
mod server;
mod state;
mod storage;
mod verbs;
mod watch;

pub use handle::{ApiServer, ApiServerBuilder, Seen};
