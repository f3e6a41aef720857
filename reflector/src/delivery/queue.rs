//! What one handler has yet to hear of.
//!
//! A queue is short as a rule, and then holds every change. Once it is longer than [`COALESCE_FROM`], changes of one object are
//! folded into what is pending for it: two updates become one from the older to the newer state, and an object that came and
//! went unheard is forgotten. So a handler that is stuck holds no more than what it knows and what the cache holds, however
//! much happens, and it still hears one story for each object, in which `old` is the previous `new`.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use lariat_api::{Object, ObjectKey};

use super::Event;
use crate::limits::COALESCE_FROM;
use crate::sync::{Mutex, MutexGuard};

/// The queue between an informer and one handler.
pub(crate) struct Queue<K> {
    state: Mutex<State<K>>,
    /// Beside the lock, since it is looked at before each call of a handler.
    is_cancelled: AtomicBool,
}

struct State<K> {
    /// A slot is empty once its object came and went.
    slots: VecDeque<Option<Event<K>>>,
    /// The number of the first slot; they are numbered from the beginning of the queue.
    first: u64,
    /// How many slots are not empty.
    len: usize,
    /// Where the pending changes of each object are, while changes are folded.
    pending: Option<HashMap<ObjectKey, Pending, FixedState>>,
    /// How many changes were folded into others.
    coalesced: u64,
    is_closed: bool,
    waiting: Option<Waker>,
}

/// The slots of one object. A deletion can be followed by an addition; all else fits into one slot.
#[derive(Clone, Copy)]
struct Pending {
    last: u64,
    deletion: Option<u64>,
}

/// What becomes of a pending change and the next one of the same object.
enum Folded<K> {
    Into(Event<K>),
    /// They cancel each other.
    Nothing,
    /// Both have to be heard of.
    Both(Event<K>, Event<K>),
}

impl<K: Object> Queue<K> {
    pub(crate) fn new() -> Arc<Self> {
        let state = State {
            slots: VecDeque::new(),
            first: 0,
            len: 0,
            pending: None,
            coalesced: 0,
            is_closed: false,
            waiting: None,
        };
        Arc::new(Self { state: Mutex::new(state), is_cancelled: AtomicBool::new(false) })
    }

    /// Adds changes under one lock, and wakes who waits for one. Returns how many are pending.
    pub(crate) fn push(&self, events: impl IntoIterator<Item = Event<K>>) -> usize {
        let mut state = self.state();
        if state.is_closed {
            return 0;
        }
        events.into_iter().for_each(|event| state.push(event));
        let pending = state.len;
        if pending == 0 {
            return 0;
        }
        let waiting = state.waiting.take();
        drop(state);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
        pending
    }

    /// Moves up to `most` changes to `batch`; ready without any once the queue is closed and empty.
    pub(crate) fn poll_take(
        &self,
        cx: &mut Context<'_>,
        batch: &mut VecDeque<Event<K>>,
        most: usize,
    ) -> Poll<()> {
        let mut state = self.state();
        state.take(batch, most);
        if batch.is_empty() && !state.is_closed {
            state.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Takes no more changes. What is there is still handed out.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let waiting = state.waiting.take();
        drop(state);
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }

    /// Takes no more changes and forgets those that are there.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
        let mut state = self.state();
        (state.len, state.pending) = (0, None);
        let forgotten = std::mem::take(&mut state.slots);
        drop(state);
        // Objects may go with them, which need not happen under the lock.
        drop(forgotten);
        self.close();
    }

    /// Whether nobody wants to hear of anything any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    /// How many changes are pending.
    pub(crate) fn len(&self) -> usize {
        self.state().len
    }

    /// How many changes were folded into others so far.
    pub(crate) fn coalesced(&self) -> u64 {
        self.state().coalesced
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Object> State<K> {
    fn push(&mut self, event: Event<K>) {
        if self.len < COALESCE_FROM && self.pending.is_none() {
            return self.append(event);
        }
        if self.pending.is_none() {
            self.index();
        }
        let Some(key) = event.key() else { return self.append(event) };
        let Some((at, before)) = self.take_pending(&key) else { return self.append_known(key, event, None) };
        match fold(before, event) {
            Folded::Into(event) => {
                self.coalesced += 1;
                self.fill(at, event);
            }
            Folded::Nothing => {
                self.coalesced += 2;
                self.forget(&key);
            }
            Folded::Both(before, event) => {
                self.fill(at, before);
                self.append_known(key, event, Some(at));
            }
        }
        if self.slots.len() > 2 * self.len + COALESCE_FROM {
            self.slots.retain(Option::is_some);
            self.index();
        }
    }

    fn append(&mut self, event: Event<K>) {
        self.slots.push_back(Some(event));
        self.len += 1;
    }

    fn append_known(&mut self, key: ObjectKey, event: Event<K>, deletion: Option<u64>) {
        let last = self.first + self.slots.len() as u64;
        if let Some(pending) = &mut self.pending {
            pending.insert(key, Pending { last, deletion });
        }
        self.append(event);
    }

    /// Takes the last pending change of an object out of its slot.
    fn take_pending(&mut self, key: &ObjectKey) -> Option<(u64, Event<K>)> {
        let number = self.pending.as_ref()?.get(key.as_str())?.last;
        let event = self.slots.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)?.take()?;
        self.len -= 1;
        Some((number, event))
    }

    fn fill(&mut self, number: u64, event: Event<K>) {
        let at = usize::try_from(number - self.first).unwrap_or(usize::MAX);
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Some(event);
            self.len += 1;
        }
    }

    /// Of an object nothing is pending any more, but for a deletion that came before.
    fn forget(&mut self, key: &ObjectKey) {
        let Some(pending) = &mut self.pending else { return };
        match pending.get_mut(key.as_str()) {
            Some(Pending { last, deletion }) if deletion.is_some_and(|number| number >= self.first) => {
                *last = deletion.take().unwrap_or(*last);
            }
            _ => drop(pending.remove(key.as_str())),
        }
    }

    /// Notes where the changes of each object are.
    fn index(&mut self) {
        let mut pending: HashMap<ObjectKey, Pending, FixedState> = HashMap::default();
        for (number, event) in (self.first..).zip(&self.slots) {
            let Some(event) = event else { continue };
            let Some(key) = event.key() else { continue };
            let is_addition = matches!(event, Event::Added { .. });
            let before = pending.get(key.as_str()).map(|before| before.last);
            pending.insert(key, Pending { last: number, deletion: before.filter(|_| is_addition) });
        }
        self.pending = Some(pending);
    }

    fn take(&mut self, batch: &mut VecDeque<Event<K>>, most: usize) {
        let mut taken = 0;
        while taken < most {
            let Some(slot) = self.slots.pop_front() else { break };
            self.first += 1;
            if let Some(event) = slot {
                self.len -= 1;
                taken += 1;
                batch.push_back(event);
            }
        }
        if self.len == 0 {
            self.first += self.slots.len() as u64;
            self.slots.clear();
            self.slots.shrink_to(COALESCE_FROM);
            self.pending = None;
        }
    }
}

fn fold<K>(before: Event<K>, event: Event<K>) -> Folded<K> {
    match (before, event) {
        (Event::Added { is_in_initial_list, .. }, Event::Updated { new: object, .. })
        | (Event::Added { is_in_initial_list, .. }, Event::Added { object, .. }) => {
            Folded::Into(Event::Added { object, is_in_initial_list })
        }
        (Event::Added { .. }, Event::Deleted(_)) => Folded::Nothing,
        (Event::Updated { old, .. }, Event::Updated { new, .. }) => Folded::Into(Event::Updated { old, new }),
        (Event::Updated { .. }, Event::Deleted(deleted)) => Folded::Into(Event::Deleted(deleted)),
        // What the second one speaks of came and went unheard; the handler knows the first.
        (Event::Deleted(first), Event::Deleted(_)) => Folded::Into(Event::Deleted(first)),
        (before, event) => Folded::Both(before, event),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use lariat_api::{DynamicObject, Randomness};

    use super::*;
    use crate::handler::Deleted;

    type Story = Event<DynamicObject>;

    fn object(name: u64, version: u64) -> Arc<DynamicObject> {
        let mut object = DynamicObject::default();
        object.metadata.name = format!("o{name}").into();
        object.metadata.resource_version = version.to_string().into();
        Arc::new(object)
    }

    fn deleted(object: Arc<DynamicObject>) -> Story {
        Event::Deleted(Deleted::Final { key: object.key().unwrap(), object })
    }

    async fn drain(queue: &Queue<DynamicObject>) -> Vec<Story> {
        let mut batch = VecDeque::new();
        if queue.len() > 0 {
            poll_fn(|cx| queue.poll_take(cx, &mut batch, usize::MAX)).await;
        }
        batch.into()
    }

    /// What a handler that tracks objects knows after a story; panics if the story does not hang together.
    fn hear(known: &mut BTreeMap<String, String>, story: &[Story]) {
        for event in story {
            match event {
                Event::Added { object, .. } => {
                    let before = known.insert(object.name().into(), object.resource_version().into());
                    assert_eq!(before, None, "added twice");
                }
                Event::Updated { old, new } => {
                    let before = known.insert(new.name().into(), new.resource_version().into());
                    assert_eq!(
                        before.as_deref(),
                        Some(old.resource_version()),
                        "old is not the previous new"
                    );
                }
                Event::Deleted(deleted) => {
                    assert!(known.remove(deleted.object().name()).is_some(), "deleted what is not there");
                }
                Event::Synced => {}
            }
        }
    }

    /// SI-1 `[W]`: memory is bounded by the objects, whatever happens to them, and the story stays consistent.
    #[tokio::test]
    async fn a_stuck_handler_holds_no_more_than_the_objects() {
        for seed in 0..20 {
            let random = Randomness::seeded(seed);
            let queue = Queue::new();
            let (mut truth, mut known) = (BTreeMap::new(), BTreeMap::new());
            let mut most = 0;
            for version in 1..40_000 {
                // A few objects live for ever, many others come and go.
                let name = if random.below(2) == 0 { random.below(50) } else { version };
                match truth.get(&name).cloned() {
                    None => {
                        let object = object(name, version);
                        truth.insert(name, object.clone());
                        queue.push([Event::Added { object, is_in_initial_list: false }]);
                        if name >= 50 {
                            queue.push([deleted(truth.remove(&name).unwrap())]);
                        }
                    }
                    Some(old) if random.below(3) > 0 => {
                        let new = object(name, version);
                        truth.insert(name, new.clone());
                        queue.push([Event::Updated { old, new }]);
                    }
                    Some(_) => {
                        queue.push([deleted(truth.remove(&name).unwrap())]);
                    }
                }
                most = most.max(queue.state().slots.len());
                if random.below(10_000) == 0 {
                    hear(&mut known, &drain(&queue).await);
                }
            }
            assert!(queue.coalesced() > 0);
            assert!(most <= 4 * COALESCE_FROM, "{most} slots");
            hear(&mut known, &drain(&queue).await);
            let truth: BTreeMap<_, _> =
                truth.values().map(|o| (o.name().to_owned(), o.resource_version().to_owned())).collect();
            assert_eq!(known, truth, "seed {seed}");
        }
    }

    /// A deletion that comes twice, as from a server that sends events twice, is not taken for that of an object that came
    /// before under the same name.
    #[tokio::test]
    async fn a_deletion_is_of_the_object_that_the_handler_knows() {
        let queue = Queue::new();
        for version in 0..COALESCE_FROM as u64 {
            queue.push([Event::Updated { old: object(0, version), new: object(0, version + 1) }]);
        }
        let (first, second) = (object(1, 2), object(1, 4));
        queue.push([deleted(first.clone())]);
        queue.push([Event::Added { object: second.clone(), is_in_initial_list: false }]);
        queue.push([deleted(second.clone())]);
        queue.push([deleted(second)]);
        let story = drain(&queue).await;
        let Some(Event::Deleted(told)) = story.last() else { panic!("{story:?}") };
        assert!(Arc::ptr_eq(told.object(), &first), "{told:?}");
    }

    #[tokio::test]
    async fn changes_that_come_together_wake_once_and_stay_in_order() {
        struct Count(AtomicUsize);

        impl std::task::Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }

        let (queue, count) = (Queue::new(), Arc::new(Count(AtomicUsize::new(0))));
        let waker = Waker::from(count.clone());
        let mut batch = VecDeque::new();
        assert!(queue.poll_take(&mut Context::from_waker(&waker), &mut batch, 9).is_pending());
        assert_eq!(queue.push([]), 0);
        assert_eq!(count.0.load(Ordering::Relaxed), 0, "nothing to take");
        let added = (0..5).map(|name| Event::Added { object: object(name, 1), is_in_initial_list: false });
        assert_eq!(queue.push(added), 5);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        let names: Vec<_> =
            drain(&queue).await.iter().map(|event| event.key().unwrap().to_string()).collect();
        assert_eq!(names, ["o0", "o1", "o2", "o3", "o4"]);
    }

    #[tokio::test]
    async fn a_short_queue_holds_every_change() {
        let queue = Queue::new();
        for version in 1..COALESCE_FROM as u64 {
            queue.push([Event::Updated { old: object(1, version - 1), new: object(1, version) }]);
        }
        assert_eq!((drain(&queue).await.len(), queue.coalesced()), (COALESCE_FROM - 1, 0));
    }

    #[tokio::test]
    async fn a_closed_queue_is_emptied_and_a_cancelled_one_is_empty() {
        let queue = Queue::new();
        queue.push([Event::Added { object: object(1, 1), is_in_initial_list: true }]);
        queue.close();
        queue.push([deleted(object(1, 2))]);
        assert_eq!(drain(&queue).await.len(), 1);
        let mut batch = VecDeque::new();
        poll_fn(|cx| queue.poll_take(cx, &mut batch, 1)).await;
        assert!(batch.is_empty());

        let queue = Queue::new();
        queue.push([Event::Added { object: object(1, 1), is_in_initial_list: true }]);
        queue.cancel();
        poll_fn(|cx| queue.poll_take(cx, &mut batch, 1)).await;
        assert!(batch.is_empty());
    }
}
