//! What one handler is told, and whether it hangs together.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use lariat_api::{DynamicObject, Object};
use lariat_reflector::{Deleted, Event, EventHandler, Informer};

use crate::history::Listening;
use crate::world::{State, Truth, value};

/// The story of one handler so far.
#[derive(Clone)]
pub(crate) struct Story(Arc<Mutex<Heard>>);

struct Heard {
    number: usize,
    listening: Listening,
    resyncs: bool,
    truth: Arc<Mutex<Truth>>,
    /// To compare with at each event; none for who hears of events in threads.
    informer: Option<Informer<DynamicObject>>,
    known: BTreeMap<String, State>,
    /// The versions of all but the first objects, in the order of the events.
    versions: Vec<u64>,
    tombstones: u64,
    is_synced: bool,
    is_over: bool,
}

impl Story {
    pub(crate) fn new(
        number: usize,
        listening: Listening,
        resyncs: bool,
        truth: Arc<Mutex<Truth>>,
        informer: &Informer<DynamicObject>,
    ) -> Self {
        Self(Arc::new(Mutex::new(Heard {
            number,
            listening,
            resyncs,
            truth,
            informer: (listening != Listening::Channel).then(|| informer.clone()),
            known: BTreeMap::new(),
            versions: Vec::new(),
            tombstones: 0,
            is_synced: false,
            is_over: false,
        })))
    }

    pub(crate) fn hear(&self, event: &Event<DynamicObject>) {
        let mut heard = self.heard();
        if let Err(error) = heard.hear(event) {
            let (number, listening) = (heard.number, heard.listening);
            heard
                .truth
                .lock()
                .unwrap()
                .fail(format!("handler {number} ({listening:?}) at {event:?}: {error}"));
        }
    }

    /// Nothing may be heard from now on.
    pub(crate) fn end(&self) {
        self.heard().is_over = true;
    }

    /// Whether nothing is to be heard.
    pub(crate) fn is_over(&self) -> bool {
        self.heard().is_over
    }

    /// Compares with what the cache holds at the end, after so many lists; how many tombstones were heard of.
    pub(crate) fn check(&self, store: &BTreeMap<String, State>, lists: u64) -> Result<u64, String> {
        let heard = self.heard();
        let who = format!("handler {} ({:?})", heard.number, heard.listening);
        let is_filtered = heard.listening == Listening::Filtered;
        let want: BTreeMap<_, _> = store
            .iter()
            .filter(|(_, state)| !is_filtered || state.passes())
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        if heard.known != want {
            return Err(format!("{who} knows {:?}, the cache holds {want:?}", heard.known));
        }
        if lists == 1 && heard.tombstones > 0 {
            return Err(format!("{who} heard of {} tombstones without a relist", heard.tombstones));
        }
        let backwards = heard.versions.windows(2).find(|pair| pair[0] > pair[1]);
        if let Some(pair) = backwards.filter(|_| lists == 1 && !heard.resyncs && !heard.may_coalesce()) {
            return Err(format!("{who} heard of version {} before {}", pair[0], pair[1]));
        }
        if heard.tells_synced() && !heard.is_synced {
            return Err(format!("{who} was not told that it is synced"));
        }
        Ok(heard.tombstones)
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap()
    }
}

impl Heard {
    fn hear(&mut self, event: &Event<DynamicObject>) -> Result<(), String> {
        let is_threaded = self.listening == Listening::Channel;
        ensure(!self.is_over || is_threaded, "the handler was removed")?;
        match event {
            Event::Added { object, is_in_initial_list } => {
                let state = State::of(object);
                if self.tells_synced() {
                    ensure(*is_in_initial_list != self.is_synced, "is_in_initial_list is wrong")?;
                }
                self.check_state(&key(object), &state)?;
                if !is_in_initial_list {
                    self.versions.push(state.version);
                }
                let before = self.known.insert(key(object), state);
                ensure(before.is_none(), format!("it was known as {before:?}"))
            }
            Event::Updated { old, new } => {
                let (old, state) = (State::of(old), State::of(new));
                self.check_state(&key(new), &state)?;
                self.versions.push(state.version);
                let before = self.known.insert(key(new), state.clone());
                ensure(
                    before.as_ref() == Some(&old),
                    format!("old is {old:?}, the previous new {before:?}"),
                )?;
                ensure(old.uid == state.uid, "an update to another object")?;
                let is_later = state.version > old.version || (self.resyncs && state == old);
                ensure(is_later, format!("{state:?} is not after {old:?}"))
            }
            Event::Deleted(deleted) => self.hear_deleted(deleted),
            Event::Synced => {
                let before = std::mem::replace(&mut self.is_synced, true);
                ensure(!before, "twice")
            }
            other => Err(format!("unknown event {other:?}")),
        }
    }

    fn hear_deleted(&mut self, deleted: &Deleted<DynamicObject>) -> Result<(), String> {
        let state = State::of(deleted.object());
        let is_filtered = self.listening == Listening::Filtered;
        let known = self.known.remove(deleted.key().as_str());
        {
            let truth = self.truth.lock().unwrap();
            ensure(is_filtered || truth.gone.contains(&state.uid), "it is on the server")?;
            if known.is_none() && truth.duplicates && !deleted.is_tombstone() {
                return Ok(());
            }
        }
        let Some(known) = known else { return Err("it was not known".into()) };
        ensure(known.uid == state.uid, format!("another object was known: {known:?}"))?;
        ensure(state.version >= known.version, format!("an older state than {known:?}"))?;
        if deleted.is_tombstone() {
            self.tombstones += 1;
            ensure(self.may_coalesce() || known == state, format!("the last known state was {known:?}"))
        } else {
            if !is_filtered {
                self.versions.push(state.version);
            }
            Ok(())
        }
    }

    /// Whether the server had an object in this state, and the cache has come to it.
    fn check_state(&self, key: &str, state: &State) -> Result<(), String> {
        let mut truth = self.truth.lock().unwrap();
        ensure(truth.states.contains(state), "the server had no such state")?;
        let Some(informer) = &self.informer else { return Ok(()) };
        let version = truth.see_version(&informer.last_sync_resource_version())?;
        ensure(version >= state.version, format!("the cache has come to {version} only"))?;
        let stored = informer.lister().store().get(key).map(|object| State::of(&object));
        let is_there = match &stored {
            Some(stored) if stored.uid == state.uid => stored.version >= state.version,
            _ => truth.gone.contains(&state.uid),
        };
        ensure(is_there, format!("the cache holds {stored:?}"))
    }

    /// Whether the handler may be so far behind that changes are folded together.
    fn may_coalesce(&self) -> bool {
        matches!(self.listening, Listening::Slowly(_) | Listening::Channel)
    }

    /// Whether the handler hears of the end of the first list.
    fn tells_synced(&self) -> bool {
        !matches!(self.listening, Listening::Calls | Listening::Filtered)
    }
}

impl EventHandler<DynamicObject> for Story {
    fn on_add(&self, object: &Arc<DynamicObject>, is_in_initial_list: bool) {
        self.hear(&Event::Added { object: object.clone(), is_in_initial_list });
    }

    fn on_update(&self, old: &Arc<DynamicObject>, new: &Arc<DynamicObject>) {
        self.hear(&Event::Updated { old: old.clone(), new: new.clone() });
    }

    fn on_delete(&self, deleted: &Deleted<DynamicObject>) {
        self.hear(&Event::Deleted(deleted.clone()));
    }
}

fn key(object: &DynamicObject) -> String {
    object.key().unwrap().to_string()
}

fn ensure(holds: bool, otherwise: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

impl State {
    pub(crate) fn of(object: &DynamicObject) -> Self {
        Self {
            version: object.resource_version().parse().unwrap(),
            uid: object.uid().to_owned(),
            value: value(object),
        }
    }

    /// What a filtering handler lets through.
    pub(crate) fn passes(&self) -> bool {
        self.value.is_multiple_of(2)
    }
}
