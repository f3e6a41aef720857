use std::future::Future;
use std::pin::Pin;

/// A future of whatever type.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
