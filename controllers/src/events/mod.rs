//! What is told to users in Events: with the reasons and messages that the original gives them.
//!
//! A [`Recorder`] hands records over and never waits. An [`EventWriter`] writes them, one Event each, until there are many: then
//! those that say the same of objects of one owner are written as one Event on the owner, which says how many there were. So
//! a fleet that grows by thousands costs tens of Events, and a single server has all of its own.

mod fold;
mod record;
mod writer;

pub use record::{EventRecord, EventType, Recorder, Reference};
pub use writer::EventWriter;
