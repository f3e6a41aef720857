//! The invariants of the state machine, after every one of many random operations.

use super::*;

fn policies(pending_delay: PendingDelay) -> Policies<u64> {
    let limiter = Arc::new(crate::default_controller_rate_limiter());
    Policies { limiter, pending_delay, charge_duplicates: false }
}

impl State<u64> {
    fn put(&mut self, item: u64, priority: i32, now: &Now) {
        self.add(item, Hashed::of(&item), priority, now);
    }

    fn put_after(&mut self, item: u64, delay: Duration, cause: Cause, now: &Now) {
        self.add_after(item, Hashed::of(&item), delay, 0, cause, now);
    }
}

/// Everything that the module's documentation promises.
fn check(state: &mut State<u64>) {
    let sizes = state.sizes();
    let state = &*state;
    let item_of = |place: &Place| state.slots[*place].item.unwrap();
    let mut queued: Vec<u64> = state
        .ready
        .entries()
        .filter(|(place, ticket)| state.slots[*place].entry.ticket == Some(*ticket))
        .map(|(place, _)| item_of(&place))
        .collect();
    queued.sort_unstable();
    let mut dirty_and_free: Vec<u64> = Vec::new();
    let (mut processing, mut delayed) = (0, 0);
    assert_eq!(state.slots.iter().filter(|slot| slot.item.is_none()).count(), state.free.len());
    for slot in state.slots.iter() {
        let Some(item) = slot.item else { continue };
        let entry = &slot.entry;
        assert_eq!(state.find(&item, Hashed::of(&item)).map(|place| item_of(&place)), Some(item));
        assert!(!entry.is_idle(), "{item} has no state, but an entry");
        assert!(entry.delay.is_pending() || !entry.charged, "{item} is charged for no delay");
        processing += usize::from(entry.processing);
        delayed += usize::from(entry.delay.is_pending());
        if entry.dirty && !entry.processing {
            dirty_and_free.push(item);
        }
    }
    dirty_and_free.sort_unstable();
    assert_eq!(queued, dirty_and_free);
    assert_eq!(sizes, (queued.len(), processing, delayed));
    assert_eq!(state.deadline().is_some(), delayed > 0);
    assert!(!state.shutting_down || delayed == 0);
}

#[test]
fn the_invariants_hold() {
    for policy in [PendingDelay::Consume, PendingDelay::Keep] {
        let mut state = State::new(policies(policy), Some(Notes::new(false)));
        let mut now = Instant::now();
        let mut held: Vec<Place> = Vec::new();
        let mut seed = 7_u64;
        for step in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (choice, item) = (seed >> 33, seed >> 60);
            let priority = (seed >> 40) as i32 % 3;
            let ms = Duration::from_millis(choice / 8 % 20);
            match choice % 8 {
                0 | 1 => state.put(item, priority, &Now::at(now)),
                2 => state.add_after(item, Hashed::of(&item), ms, priority, Cause::Asked, &Now::at(now)),
                3 => state.put_after(item, ms, Cause::RateLimited, &Now::at(now)),
                4 => held.extend(state.take(&Now::at(now)).map(|taken| taken.place)),
                5 if !held.is_empty() => {
                    let done = held.swap_remove(item as usize % held.len());
                    let _ = state.done(done, &Now::at(now));
                }
                6 if choice & 8 == 0 => {
                    let _ = state.forget(&item, Hashed::of(&item));
                }
                6 => state.add_failed(item, Hashed::of(&item), priority, None, &Now::at(now)),
                // A clock that is read outside the lock may be a little behind the last reading.
                7 => now = now + ms - Duration::from_millis(2).min(ms),
                _ => {}
            }
            if step == 19_900 {
                state.shut_down(&Now::at(now));
            }
            check(&mut state);
        }
    }
}

#[test]
fn memory_of_a_burst_is_given_back() {
    let now = Instant::now();
    let mut state = State::new(policies(PendingDelay::Consume), None);
    for item in 0..100_000_u64 {
        state.put(item, 0, &Now::at(now));
    }
    while let Some(taken) = state.take(&Now::at(now)) {
        assert_eq!(state.done(taken.place, &Now::at(now)), Some(taken.item));
    }
    assert!(state.ready.capacity() + state.slots.capacity() + state.index.capacity() < 8192);
    assert_eq!(state.free.len(), state.slots.len());
}

#[test]
fn a_delay_is_kept_and_due_at_its_instant() {
    let now = Instant::now();
    let later = now + Duration::from_millis(5);
    let mut state = State::new(policies(PendingDelay::Consume), None);
    state.put_after(1, Duration::from_millis(5), Cause::Asked, &Now::at(now));
    assert!(state.take(&Now::at(later - Duration::from_nanos(1))).is_none());
    assert_eq!(state.take(&Now::at(later)).map(|taken| taken.item), Some(1));
}

#[test]
fn memory_of_priorities_that_were_raised_is_given_back() {
    let now = Now::at(Instant::now());
    let mut state = State::new(policies(PendingDelay::Consume), None);
    for priority in 0..100_000 {
        state.put(1, priority, &now);
        state.put(2, priority / 7, &now);
    }
    assert!(state.ready.entries().count() < 16_384, "{}", state.ready.entries().count());
    assert_eq!(state.take(&now).map(|taken| (taken.item, taken.priority)), Some((1, 99_999)));
    assert_eq!(state.take(&now).map(|taken| taken.item), Some(2));
    assert!(state.take(&now).is_none());
}

/// They are what a burst has to write.
#[test]
fn what_is_known_of_an_item_is_small() {
    type Key = Arc<str>;
    assert_eq!(size_of::<Slot<Key>>(), 56);
    assert_eq!(size_of::<Pending<Key>>(), 40);
}
