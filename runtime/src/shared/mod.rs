//! Shared controllers, in the manner of Lasso: one for each kind, with several handlers that run one after another.
//!
//! Where a [`Controller`](crate::Controller) has one handler that knows all about its kind, a [`SharedController`] has many that know
//! nothing of each other, registered by name from all over a program. Each gets the newest object, and what one returns the next
//! one gets. Caches, clients and queues are made when a controller is first used, and belong to the
//! [`SharedControllerFactory`].

mod builder;
mod chain;
mod controller;
mod factory;
mod finalized;
mod transaction;

pub use self::builder::SharedControllerFactoryBuilder;
pub use self::controller::{HandlerRegistration, SharedController};
pub use self::factory::{SharedControllerFactory, StartError};
pub use self::transaction::HandlerTransaction;
