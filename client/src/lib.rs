//! How to reach an API server, and how to talk to it.
//!
//! Here live the configuration ([`config`]), the transport ([`Client`], [`Connector`]), typed access to one kind of object ([`Api`]) and the decoders of
//! streamed answers ([`ListStream`], [`WatchStream`], and [`decode`] without I/O). Nothing here remembers an object:
//! caches are the store's and retries the reflector's business.
//!
//! Invariants:
//! - The HTTP status is looked at before the body is decoded.
//! - A list or a watch is never held whole: at most one object and one chunk of bytes are.
//! - One object that cannot be decoded is handed over with its bytes, and the stream goes on.

#![forbid(unsafe_code)]

mod api;
mod body;
mod boxed;
mod client;
pub mod config;
mod connect;
pub mod decode;
mod error;
mod fence;
mod limits;
mod metrics;
mod params;
mod patch;
mod retry;
mod stream;

pub use api::Api;
pub use client::{Client, ClientBuilder};
pub use config::Config;
pub use connect::{Connecting, Connection, Connector, TcpConnector};
pub use decode::{Item, Undecodable};
pub use error::{Error, TransportError};
pub use fence::{Fence, Fenced};
pub use metrics::Metrics;
pub use params::{DeleteParams, ListParams, Propagation, VersionMatch, WatchParams};
pub use patch::{Patch, PatchParams};
pub use stream::{ListStream, WatchStream};
