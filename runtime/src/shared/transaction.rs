use std::fmt::{self, Debug, Formatter};

/// Handlers that are to be registered together, or not at all.
///
/// # Example
///
/// ```
/// # use lariat::{DynamicObject, shared::{HandlerTransaction, SharedController}};
/// # fn run(nodes: SharedController<DynamicObject>, is_well: bool) {
/// let mut transaction = HandlerTransaction::new();
/// nodes.register_in(&mut transaction, "one", |_, _, _| async { Ok(None) });
/// nodes.register_in(&mut transaction, "two", |_, _, _| async { Ok(None) });
/// if is_well {
///     transaction.commit();
/// } // else nothing is registered
/// # }
/// ```
#[derive(Default)]
#[must_use = "what is not committed is not registered"]
pub struct HandlerTransaction(Vec<Box<dyn FnOnce() + Send>>);

impl HandlerTransaction {
    /// A transaction of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn push(&mut self, register: impl FnOnce() + Send + 'static) {
        self.0.push(Box::new(register));
    }

    /// Registers all, in order.
    pub fn commit(self) {
        self.0.into_iter().for_each(|register| register());
    }

    /// Registers nothing. So does dropping it.
    pub fn rollback(self) {}
}

impl Debug for HandlerTransaction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerTransaction").field("handlers", &self.0.len()).finish()
    }
}
