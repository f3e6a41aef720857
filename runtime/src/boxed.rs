use std::future::Future;
use std::pin::Pin;

/// A future of whatever type.
///
/// What is spawned is boxed too: for each type of future that is, tokio's tasks are compiled anew.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
