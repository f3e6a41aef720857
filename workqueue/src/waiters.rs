//! Those who wait in `get`, and which of them minds the clock.
//!
//! A waiter is *waiting* from the moment it registers until it is woken for an item, and *woken* from then until it is
//! polled again or given up. Somebody who was not waiting may take the item first; the woken waiter then waits again,
//! with its old number, so it does not lose its place.
//!
//! Invariants, restored by [`Waiters::settle`] after every operation on the queue:
//!
//! * With `n` items queued, `n` waiters are woken, or all of them. A woken waiter that is given up is replaced by the
//!   next one, so no wake-up is lost.
//! * While anything is delayed and anybody is waiting, one of the waiting ones has the timer and sleeps at most until
//!   the first deadline; all others sleep without a timer. A waiter that leaves hands the timer on.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::task::Waker;

use tokio::time::Instant;

/// The number of a waiter. Smaller ones came earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaiterId(u64);

#[derive(Debug, Default)]
pub(crate) struct Waiters {
    next: u64,
    waiting: BTreeMap<WaiterId, Waker>,
    woken: usize,
    timer: Option<Timer>,
}

#[derive(Debug)]
struct Timer {
    holder: WaiterId,
    until: Instant,
}

/// Wakers that are called, and others that are dropped, when this is dropped: after the lock was released, since either
/// may run code that takes the lock again. Nearly always there is at most one, which costs no allocation.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    first: Option<Waker>,
    more: Vec<Waker>,
    discarded: Vec<Waker>,
}

impl Waiters {
    /// Registers a waiter, or one that was registered before. Returns until when it has to sleep if it has the timer.
    pub(crate) fn wait(
        &mut self,
        id: &mut Option<WaiterId>,
        waker: &Waker,
        deadline: Option<Instant>,
        wakes: &mut Wakes,
    ) -> Option<Instant> {
        let known = id.is_some();
        let id = *id.get_or_insert_with(|| {
            self.next += 1;
            WaiterId(self.next)
        });
        match self.waiting.entry(id) {
            Entry::Occupied(mut registered) => {
                if !registered.get().will_wake(waker) {
                    wakes.discard(registered.insert(waker.clone()));
                }
            }
            Entry::Vacant(place) => {
                place.insert(waker.clone());
                self.woken -= usize::from(known);
            }
        }
        let mine = self.timer.as_ref().is_none_or(|timer| timer.holder == id);
        if mine {
            self.timer = deadline.map(|until| Timer { holder: id, until });
        }
        deadline.filter(|_| mine)
    }

    /// Takes out a waiter that has what it came for or no longer wants it.
    pub(crate) fn leave(&mut self, id: WaiterId, wakes: &mut Wakes) {
        match self.waiting.remove(&id) {
            Some(waker) => wakes.discard(waker),
            None => self.woken -= 1,
        }
        self.release_timer(id);
    }

    /// Restores the invariants: `ready` items are queued, and the first delay ends at `deadline`.
    pub(crate) fn settle(&mut self, ready: usize, deadline: Option<Instant>, wakes: &mut Wakes) {
        while self.woken < ready && self.wake_first(wakes) {}
        let Some(deadline) = deadline else { return };
        match &mut self.timer {
            // The holder will see for itself that a deadline has moved away.
            Some(timer) if timer.until <= deadline => {}
            Some(timer) => {
                timer.until = deadline;
                let waker = self.waiting.get(&timer.holder);
                debug_assert!(waker.is_some(), "the holder of the timer is waiting");
                wakes.extend(waker.cloned());
            }
            // The last to come is the last to be woken for an item, so the timer seldom changes hands.
            None => {
                if let Some((&holder, waker)) = self.waiting.last_key_value() {
                    self.timer = Some(Timer { holder, until: deadline });
                    wakes.extend([waker.clone()]);
                }
            }
        }
    }

    /// Wakes everybody, for there is nothing more to wait for.
    pub(crate) fn dismiss(&mut self, wakes: &mut Wakes) {
        while self.wake_first(wakes) {}
    }

    fn wake_first(&mut self, wakes: &mut Wakes) -> bool {
        let Some((id, waker)) = self.waiting.pop_first() else { return false };
        self.woken += 1;
        self.release_timer(id);
        wakes.extend([waker]);
        true
    }

    fn release_timer(&mut self, id: WaiterId) {
        if self.timer.as_ref().is_some_and(|timer| timer.holder == id) {
            self.timer = None;
        }
    }
}

// === impl Wakes ===

impl Wakes {
    /// Drops a waker without calling it.
    pub(crate) fn discard(&mut self, waker: Waker) {
        self.discarded.push(waker);
    }
}

impl Extend<Waker> for Wakes {
    fn extend<I: IntoIterator<Item = Waker>>(&mut self, wakers: I) {
        for waker in wakers {
            match self.first {
                None => self.first = Some(waker),
                Some(_) => self.more.push(waker),
            }
        }
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        for waker in self.first.take().into_iter().chain(self.more.drain(..)) {
            waker.wake();
        }
    }
}
