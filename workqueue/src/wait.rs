//! The two ways to wait for an [`Attempt`] to succeed: as a future, and as a thread.

use std::cell::OnceCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker, ready};
use std::thread::{self, Thread};

use tokio::task::coop;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::shared::Attempt;
use crate::sync::Arc;

/// Waits as a future. Cancel safe if the owner of `attempt` withdraws on drop.
pub(crate) async fn wait<R>(mut attempt: impl FnMut(&Waker) -> Attempt<R>) -> R {
    // A worker that always finds an item makes no alarm.
    let first = poll_fn(|cx| {
        // It would otherwise never let another task run.
        let budget = ready!(coop::poll_proceed(cx));
        let first = attempt(cx.waker());
        if matches!(first, Attempt::Done(_)) {
            budget.made_progress();
        }
        Poll::Ready(first)
    });
    match first.await {
        Attempt::Done(result) => result,
        Attempt::Wait(until) => wait_on(attempt, until).await,
    }
}

/// Waits after an attempt that said until when.
async fn wait_on<R>(mut attempt: impl FnMut(&Waker) -> Attempt<R>, until: Option<Instant>) -> R {
    // Made only when there is a deadline, so that a plain queue works on any runtime.
    let mut alarm = pin!(None::<Sleep>);
    let mut known = Some(until);
    poll_fn(|cx| {
        let budget = ready!(coop::poll_proceed(cx));
        loop {
            let until = match known.take() {
                Some(until) => until,
                None => match attempt(cx.waker()) {
                    Attempt::Done(result) => {
                        budget.made_progress();
                        return Poll::Ready(result);
                    }
                    Attempt::Wait(until) => until,
                },
            };
            match until {
                None => {
                    alarm.set(None);
                    return Poll::Pending;
                }
                // Once it is time, the item is there, or has gone and left a later deadline.
                Some(until) => ready!(poll_until(alarm.as_mut(), until, cx)),
            }
        }
    })
    .await
}

/// Waits as a thread.
pub(crate) fn wait_blocking<R>(mut attempt: impl FnMut(&Waker) -> Attempt<R>) -> R {
    // It is the same for all waits of a thread, and costs an allocation.
    thread_local!(static WAKER: OnceCell<Waker> = const { OnceCell::new() });
    let new = || Waker::from(Arc::new(Unpark(thread::current())));
    match WAKER.try_with(|waker| wait_as_thread(&mut attempt, waker.get_or_init(new))) {
        Ok(result) => result,
        // The thread is about to end.
        Err(_) => wait_as_thread(&mut attempt, &new()),
    }
}

fn wait_as_thread<R>(attempt: &mut impl FnMut(&Waker) -> Attempt<R>, waker: &Waker) -> R {
    loop {
        match attempt(waker) {
            Attempt::Done(result) => return result,
            Attempt::Wait(None) => thread::park(),
            Attempt::Wait(Some(until)) => {
                thread::park_timeout(until.saturating_duration_since(Instant::now()));
            }
        }
    }
}

fn poll_until(mut alarm: Pin<&mut Option<Sleep>>, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
    match alarm.as_mut().as_pin_mut() {
        Some(sleep) if sleep.deadline() == until => {}
        Some(sleep) => sleep.reset(until),
        None => alarm.set(Some(sleep_until(until))),
    }
    alarm.as_pin_mut().map_or(Poll::Pending, |sleep| sleep.poll(cx))
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
