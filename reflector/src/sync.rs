//! The one place that names the lock, so that in tests a model checker can decide who gets it.

#[cfg(test)]
pub(crate) use modelled::{Mutex, MutexGuard};
#[cfg(not(test))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(test)]
pub(crate) mod modelled {
    use std::cell::Cell;
    use std::ops::{Deref, DerefMut};
    use std::sync::{LockResult, PoisonError};

    thread_local! {
        static MODEL: Cell<bool> = const { Cell::new(false) };
    }

    /// A mutex whose holder the model checker chooses, if it was made inside of a model.
    #[derive(Debug)]
    pub(crate) struct Mutex<T> {
        turn: Option<shuttle::sync::Mutex<()>>,
        value: std::sync::Mutex<T>,
    }

    pub(crate) struct MutexGuard<'a, T> {
        // Given back before the turn is.
        value: std::sync::MutexGuard<'a, T>,
        _turn: Option<shuttle::sync::MutexGuard<'a, ()>>,
    }

    /// Makes the locks that `model` makes part of the model that runs on this thread.
    pub(crate) fn within_model(model: impl FnOnce()) {
        struct End;
        impl Drop for End {
            fn drop(&mut self) {
                MODEL.set(false);
            }
        }
        MODEL.set(true);
        let _end = End;
        model();
    }

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            let turn = MODEL.get().then(|| shuttle::sync::Mutex::new(()));
            Self { turn, value: std::sync::Mutex::new(value) }
        }

        pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            let _turn = self.turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(MutexGuard { value: self.value.lock().unwrap_or_else(PoisonError::into_inner), _turn })
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.value
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.value
        }
    }
}
