//! The one place that names the lock, so that in tests a model checker can decide who gets it.

#[cfg(test)]
pub(crate) use self::modelled::{Mutex, MutexGuard};
#[cfg(not(test))]
pub(crate) use self::real::{Mutex, MutexGuard};
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

mod real {
    use std::hint;
    use std::sync::{PoisonError, TryLockError};

    use crate::limits::PATIENCE;

    /// A mutex that outlives a panic of its holder, and whose holder is left alone.
    ///
    /// Only code of the item's type (`Hash`, `Eq`, `Clone`) or of a rate limiter can panic under a lock of this crate. One
    /// such panic must not stop every other worker, so poisoning is ignored.
    ///
    /// What is done under a lock of this crate takes some tens of nanoseconds, which is as long as it takes a core to get from
    /// another what it works on. So who finds the lock taken stays away for microseconds, in which the holder does a hundred
    /// operations on what it has in its cache; to fetch the lock between any two would make both slower. Only who has stayed
    /// away several times sleeps, for the holder may have lost its core.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

    pub(crate) type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(std::sync::Mutex::new(value))
        }

        #[inline]
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.try_lock().unwrap_or_else(|| self.wait())
        }

        #[inline]
        fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            match self.0.try_lock() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        }

        #[cold]
        fn wait(&self) -> MutexGuard<'_, T> {
            for spins in PATIENCE {
                (0..spins).for_each(|_| hint::spin_loop());
                if let Some(guard) = self.try_lock() {
                    return guard;
                }
            }
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

#[cfg(test)]
pub(crate) mod modelled {
    use std::cell::Cell;
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;

    use super::real;

    thread_local! {
        static MODEL: Cell<bool> = const { Cell::new(false) };
    }

    /// A mutex whose holder the model checker chooses, if it was made inside of a model.
    #[derive(Debug)]
    pub(crate) struct Mutex<T> {
        turn: Option<loom::sync::Mutex<()>>,
        value: real::Mutex<T>,
    }

    pub(crate) struct MutexGuard<'a, T> {
        // Given back before the turn is.
        value: real::MutexGuard<'a, T>,
        _turn: Option<loom::sync::MutexGuard<'a, ()>>,
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
            let turn = MODEL.get().then(|| loom::sync::Mutex::new(()));
            Self { turn, value: real::Mutex::new(value) }
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            let _turn = self.turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
            MutexGuard { value: self.value.lock(), _turn }
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
