//! A recorded GameServer with the places at which one differs from another.

use anyhow::{Context, Result, ensure};
use lariat_fixtures::{Recording, recording_path};
use serde_json::Value;

/// The text of a recorded GameServer, cut at the places that vary.
#[derive(Debug)]
pub(crate) struct Template {
    /// One more than there are slots.
    texts: Vec<String>,
    slots: Vec<Slot>,
}

/// What varies from one GameServer to the next, or from one event to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    Name,
    Uid,
    ResourceVersion,
    Generation,
    Created,
    LastAllocated,
    Port,
    Node,
    ExternalAddress,
    InternalAddress,
    PodAddress,
    State,
}

impl Template {
    /// Takes from the recording what a GameServer looks like once three managers have written it.
    pub(crate) fn recorded() -> Result<Self> {
        let recording = Recording::open(recording_path("agones-buffer-autoscale"))?;
        let watch = recording.exchanges.iter().find(|exchange| exchange.name == "gameservers watch");
        let body = String::from_utf8(watch.context("the recording has no watch of GameServers")?.body())?;
        let line = body
            .lines()
            .find(|line| line.contains(r#""state":"Shutdown""#) && line.contains("last-allocated"))
            .context("the recording has no GameServer that was allocated and shut down")?;
        let text = line
            .strip_prefix(r#"{"type":"MODIFIED","object":"#)
            .and_then(|rest| rest.strip_suffix('}'))
            .context("the recorded event does not begin as expected")?;
        Self::cut(text)
    }

    fn cut(text: &str) -> Result<Self> {
        let object: Value = serde_json::from_str(text)?;
        let at = |pointer: &str| -> Result<&str> {
            object.pointer(pointer).and_then(Value::as_str).with_context(|| format!("no {pointer}"))
        };
        let number = |pointer: &str| -> Result<i64> {
            object.pointer(pointer).and_then(Value::as_i64).with_context(|| format!("no {pointer}"))
        };
        let port = number("/spec/ports/0/hostPort")?;
        let quoted = |key: &str, value: &str| (format!(r#""{key}":""#), value.to_owned());
        let places = [
            (Slot::Name, quoted("name", at("/metadata/name")?)),
            (Slot::Uid, quoted("uid", at("/metadata/uid")?)),
            (Slot::ResourceVersion, quoted("resourceVersion", at("/metadata/resourceVersion")?)),
            (Slot::Generation, (r#""generation":"#.to_owned(), number("/metadata/generation")?.to_string())),
            (Slot::Created, quoted("creationTimestamp", at("/metadata/creationTimestamp")?)),
            (
                Slot::LastAllocated,
                quoted("agones.dev/last-allocated", at("/metadata/annotations/agones.dev~1last-allocated")?),
            ),
            (Slot::Port, (r#""hostPort":"#.to_owned(), port.to_string())),
            (Slot::Port, (r#""port":"#.to_owned(), port.to_string())),
            (Slot::Node, quoted("nodeName", at("/status/nodeName")?)),
            (Slot::ExternalAddress, quoted("address", at("/status/address")?)),
            (Slot::InternalAddress, quoted("address", at("/status/addresses/1/address")?)),
            (Slot::PodAddress, quoted("address", at("/status/addresses/2/address")?)),
            (Slot::State, quoted("state", at("/status/state")?)),
        ];
        let mut found = Vec::new();
        for (slot, (before, value)) in places {
            let pattern = format!("{before}{value}");
            let known = found.len();
            found.extend(
                text.match_indices(&pattern).map(|(at, _)| (at + before.len(), at + pattern.len(), slot)),
            );
            ensure!(found.len() > known, "the recorded GameServer has no {pattern}");
        }
        found.sort_unstable_by_key(|(start, ..)| *start);
        let (mut texts, mut slots, mut from) = (Vec::new(), Vec::new(), 0);
        for (start, end, slot) in found {
            texts.push(text.get(from..start).context("two places overlap")?.to_owned());
            slots.push(slot);
            from = end;
        }
        texts.push(text[from..].to_owned());
        Ok(Self { texts, slots })
    }

    /// Writes a GameServer. `fill` writes what belongs into a place.
    pub(crate) fn write(&self, into: &mut Vec<u8>, fill: impl Fn(Slot, &mut Vec<u8>)) {
        for (text, slot) in self.texts.iter().zip(&self.slots) {
            into.extend_from_slice(text.as_bytes());
            fill(*slot, into);
        }
        if let Some(rest) = self.texts.last() {
            into.extend_from_slice(rest.as_bytes());
        }
    }
}
