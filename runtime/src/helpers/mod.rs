//! What controllers do again and again.

mod condition;
mod finalizer;
mod owner;
mod wait;

pub use self::condition::{Condition, Conditions};
pub use self::finalizer::Finalizer;
pub use self::owner::{OwnerError, owner_reference, set_controller_reference};
pub use self::wait::{WaitError, install_crd, wait_for, wait_for_crd};
