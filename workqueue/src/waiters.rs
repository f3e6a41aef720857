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

use std::collections::VecDeque;
use std::task::Waker;

use tokio::time::Instant;

/// The number of a waiter. Smaller ones came earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaiterId(u64);

#[derive(Debug, Default)]
pub(crate) struct Waiters {
    next: u64,
    /// By their numbers.
    waiting: VecDeque<(WaiterId, Waker)>,
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
    discarded: Option<Waker>,
    more: Vec<Waker>,
    more_discarded: Vec<Waker>,
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
        match self.find(id) {
            Ok(at) => {
                let (_, registered) = &mut self.waiting[at];
                if !registered.will_wake(waker) {
                    wakes.discard(std::mem::replace(registered, waker.clone()));
                }
            }
            Err(at) => {
                self.waiting.insert(at, (id, waker.clone()));
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
        match self.find(id).ok().and_then(|at| self.waiting.remove(at)) {
            Some((_, waker)) => wakes.discard(waker),
            None => self.woken -= 1,
        }
        self.release_timer(id);
    }

    /// Whether nobody waits, so that there is nothing to settle.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
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
                let holder = timer.holder;
                let waker = self.find(holder).ok().map(|at| self.waiting[at].1.clone());
                debug_assert!(waker.is_some(), "the holder of the timer is waiting");
                wakes.extend(waker);
            }
            // The last to come is the last to be woken for an item, so the timer seldom changes hands.
            None => {
                if let Some((holder, waker)) = self.waiting.back() {
                    self.timer = Some(Timer { holder: *holder, until: deadline });
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
        let Some((id, waker)) = self.waiting.pop_front() else { return false };
        self.woken += 1;
        self.release_timer(id);
        wakes.extend([waker]);
        true
    }

    /// The index of a waiter, or the one that it would have.
    fn find(&self, id: WaiterId) -> Result<usize, usize> {
        match self.waiting.back() {
            Some((last, _)) if *last >= id => self.waiting.binary_search_by_key(&id, |(id, _)| *id),
            _ => Err(self.waiting.len()),
        }
    }

    fn release_timer(&mut self, id: WaiterId) {
        if self.timer.as_ref().is_some_and(|timer| timer.holder == id) {
            self.timer = None;
        }
    }
}

// === impl Wakes ===

impl Wakes {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.discarded.is_none()
    }

    /// Drops a waker without calling it.
    pub(crate) fn discard(&mut self, waker: Waker) {
        match self.discarded {
            None => self.discarded = Some(waker),
            Some(_) => self.more_discarded.push(waker),
        }
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
    #[inline]
    fn drop(&mut self) {
        let Some(first) = self.first.take() else { return };
        first.wake();
        if !self.more.is_empty() {
            self.more.drain(..).for_each(Waker::wake);
        }
    }
}
