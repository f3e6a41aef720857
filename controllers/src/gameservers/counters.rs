//! What may be done to the counters and lists of a server (AL-5).

use std::collections::BTreeSet;

use crate::types::{CounterStatus, GameServerStatus, ListStatus};

/// The most entries that a list may have.
pub const MAX_LIST_CAPACITY: i64 = 1_000;

/// Which way a counter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountAction {
    /// Up, to its capacity at most.
    Increment,
    /// Down, to 0 at least.
    Decrement,
}

/// Why a counter or a list stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CountError {
    /// There is none of this name.
    #[error("there is no {what} {name:?}")]
    NotFound {
        /// `counter` or `list`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The amount is less than 0.
    #[error("counter {name:?}: an amount of {amount} is less than 0")]
    Amount {
        /// The counter.
        name: String,
        /// The amount.
        amount: i64,
    },
    /// A counter can be incremented and decremented only.
    #[error("counter {name:?}: unknown action {action:?}: want \"Increment\" or \"Decrement\"")]
    Action {
        /// The counter.
        name: String,
        /// The action.
        action: String,
    },
    /// The capacity is out of bounds.
    #[error("{what} {name:?}: a capacity of {capacity} is out of bounds")]
    Capacity {
        /// `counter` or `list`.
        what: &'static str,
        /// The name.
        name: String,
        /// The capacity.
        capacity: i64,
    },
    /// There is nothing to add or to take.
    #[error("list {0:?}: no values are given")]
    NoValues(String),
}

impl std::str::FromStr for CountAction {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "Increment" => Ok(Self::Increment),
            "Decrement" => Ok(Self::Decrement),
            _ => Err(()),
        }
    }
}

impl GameServerStatus {
    /// Moves a counter up or down, within 0 and its capacity.
    ///
    /// # Errors
    ///
    /// If there is no such counter, or the amount is less than 0.
    pub fn update_count(&mut self, name: &str, action: CountAction, amount: i64) -> Result<(), CountError> {
        let counter = self.counter(name)?;
        if amount < 0 {
            return Err(CountError::Amount { name: name.to_owned(), amount });
        }
        counter.count = match action {
            CountAction::Increment => counter.count.saturating_add(amount).min(counter.capacity),
            CountAction::Decrement => counter.count.saturating_sub(amount).min(counter.capacity),
        }
        .max(0);
        Ok(())
    }

    /// Gives a counter another capacity; its count goes down to it.
    ///
    /// # Errors
    ///
    /// If there is no such counter, or the capacity is less than 0.
    pub fn update_counter_capacity(&mut self, name: &str, capacity: i64) -> Result<(), CountError> {
        let counter = self.counter(name)?;
        if capacity < 0 {
            return Err(CountError::Capacity { what: "counter", name: name.to_owned(), capacity });
        }
        counter.capacity = capacity;
        counter.count = counter.count.min(capacity);
        Ok(())
    }

    /// Gives a list another capacity; entries beyond it are lost.
    ///
    /// # Errors
    ///
    /// If there is no such list, or the capacity is not within 0 and [`MAX_LIST_CAPACITY`].
    pub fn update_list_capacity(&mut self, name: &str, capacity: i64) -> Result<(), CountError> {
        let list = self.list(name)?;
        if !(0..=MAX_LIST_CAPACITY).contains(&capacity) {
            return Err(CountError::Capacity { what: "list", name: name.to_owned(), capacity });
        }
        list.capacity = capacity;
        if let Some(values) = &mut list.values {
            values.truncate(usize::try_from(capacity).unwrap_or_default());
        }
        Ok(())
    }

    /// Adds entries to a list that it does not have, as far as its capacity goes.
    ///
    /// # Errors
    ///
    /// If there is no such list, or nothing to add.
    pub fn append_list_values(&mut self, name: &str, values: Option<&[String]>) -> Result<(), CountError> {
        let list = self.list(name)?;
        let Some(values) = values else { return Err(CountError::NoValues(name.to_owned())) };
        let mut seen = BTreeSet::new();
        let all = list.values().iter().chain(values);
        let mut merged: Vec<String> = all.filter(|value| seen.insert(value.as_str())).cloned().collect();
        merged.truncate(usize::try_from(list.capacity).unwrap_or_default());
        list.values = Some(merged);
        Ok(())
    }

    /// Takes entries from a list.
    ///
    /// # Errors
    ///
    /// If there is no such list, or nothing to take.
    pub fn delete_list_values(&mut self, name: &str, values: Option<&[String]>) -> Result<(), CountError> {
        let list = self.list(name)?;
        let Some(values) = values else { return Err(CountError::NoValues(name.to_owned())) };
        let left = list.values().iter().filter(|value| !values.contains(value)).cloned().collect();
        list.values = Some(left);
        Ok(())
    }

    fn counter(&mut self, name: &str) -> Result<&mut CounterStatus, CountError> {
        let counter = self.counters.get_mut(name);
        counter.ok_or_else(|| CountError::NotFound { what: "counter", name: name.to_owned() })
    }

    fn list(&mut self, name: &str) -> Result<&mut ListStatus, CountError> {
        let list = self.lists.get_mut(name);
        list.ok_or_else(|| CountError::NotFound { what: "list", name: name.to_owned() })
    }
}
