//! Faults on demand: what a network, an overloaded server or one that is behind does to requests.
//!
//! A [`FaultPlan`] has [`Rule`]s, each with one [`Fault`]. When a request was read, [`Faults::strike`] says what happens to
//! it; the server does that at the places where it would happen: before the verb, in what a read sees, in the events of a
//! watch, in the bytes of the body, or in the stream below ([`Line`]).

mod active;
mod asking;
mod cut;
mod events;
mod fault;
mod line;
mod plan;
mod rule;
mod stale;

pub use active::Struck;
pub(crate) use active::{Chosen, End, Faults, Strike};
pub use asking::Asking;
pub(crate) use cut::CutBody;
pub(crate) use events::EventFaults;
pub use fault::{Fault, Staleness};
pub(crate) use line::{Abort, Breakable, Line};
pub use plan::FaultPlan;
pub use rule::Rule;
pub(crate) use stale::StaleRead;
