//! A Kubernetes API server in process: what tests of controllers run against instead of a cluster or a fake client.
//!
//! [`ApiServer`] holds the state and answers; [`builtin`], [`schema`], [`patch`] and [`apply`] are its rules, without any state:
//! how built-in objects and custom resources behave, how patches change objects, and who owns which fields. An [`AggregatedApi`] adds
//! resources that are not stored. Its measure is
//! kube-apiserver 1.36: `tests/conformance` compares the two exchange by exchange.
//!
//! Not here: whatever runs pods (there is no scheduler and no kubelet), permissions beyond one token, webhooks, conversion
//! between versions, and rules in CEL.
//!
//! Invariants:
//! - Every write has one revision, larger than all before, and is told to the watchers before the next one happens; so every
//!   watcher sees the writes of its selection in order, and none twice, unless a [`FaultPlan`] says otherwise.
//! - Memory is bounded but for the objects themselves: writes are remembered up to a window, and a watcher that is too far
//!   behind is cut off.
//! - Nothing that is sent makes it panic or stop; it answers with a status.
//! - Without a plan of faults a request pays one look at a flag for them.
//! - Time and randomness are passed in.

#![forbid(unsafe_code)]

mod aggregation;
mod answer;
pub mod apply;
mod background;
pub mod builtin;
mod context;
mod discovery;
mod failure;
mod faults;
mod form;
mod handle;
mod kinds;
mod meta;
mod openapi;
mod options;
pub mod patch;
mod port;
mod reads;
mod reply;
mod request;
pub mod schema;
mod server;
mod state;
mod storage;
mod verbs;
mod watch;
mod yaml;

pub use aggregation::{
    AggregateError, AggregatedApi, AggregatedRequest, AggregatedResource, Loopback, User, Verb,
};
pub use faults::{Asking, Fault, FaultPlan, Rule, Staleness, Struck};
pub use handle::{ApiServer, ApiServerBuilder, Seen};
pub use port::{IdentityError, ServerIdentity, random_token};
