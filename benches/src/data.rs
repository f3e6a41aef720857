use std::io::Write;

use anyhow::Result;
use bytes::Bytes;

use crate::template::{Slot, Template};

/// GameServers of one fleet, events that change them, and what they are afterwards.
///
/// # Example
///
/// ```
/// use lariat_benches::Data;
///
/// let data = Data::new(10, 20)?;
/// assert_eq!(data.first.len(), 10);
/// assert_eq!(data.events.iter().map(|part| part.iter().filter(|byte| **byte == b'\n').count()).sum::<usize>(), 20);
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug)]
pub struct Data {
    /// What a first list holds.
    pub first: Collection,
    /// The lines of MODIFIED events that follow, in pieces of about 64 KiB of whole lines.
    pub events: Vec<Bytes>,
    /// How many events there are.
    pub event_count: u64,
    /// What is held once all events are applied.
    pub digest: u64,
    /// What there is after one in ten objects has changed once more, unseen.
    pub later: Collection,
}

/// The objects of a kind at one time.
#[derive(Debug)]
pub struct Collection {
    /// The version of the whole.
    pub version: u64,
    /// What is held once all of it is; see [`digest_of`].
    pub digest: u64,
    /// The objects, with commas between them.
    text: Bytes,
    /// Where each object begins, and where the text ends, a comma after it counted in.
    starts: Vec<usize>,
}

/// What an object is part of a digest with: the digest of a set is the wrapping sum over its objects.
///
/// FNV-1a of name, resourceVersion and state, with one space between.
pub fn digest_of(name: &str, version: &str, state: &str) -> u64 {
    let parts = [name, " ", version, " ", state];
    parts
        .iter()
        .flat_map(|part| part.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What varies of one GameServer.
struct GameServer {
    name: String,
    uid: String,
    created: u32,
    port: u16,
    node: u32,
    pod: u32,
    version: u64,
    generation: u32,
    allocated: u64,
    state: &'static str,
}

const SEED: u64 = 36;
const FIRST_VERSION: u64 = 1_000_000;
const SERVERS_ON_A_NODE: usize = 100;
const PIECE: usize = 64 << 10;

impl Data {
    /// Makes `objects` GameServers and `events` changes of random ones.
    ///
    /// # Errors
    ///
    /// If the recording that they are shaped after cannot be read.
    pub fn new(objects: usize, events: usize) -> Result<Self> {
        let template = Template::recorded()?;
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut version = FIRST_VERSION;
        let mut servers: Vec<_> = (0..objects).map(|index| GameServer::new(index, &mut random)).collect();
        for server in &mut servers {
            version += 1;
            server.version = version;
        }
        // The order in which a server lists: by name.
        servers.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let first = Collection::new(&template, &servers, version);

        let mut pieces = Vec::new();
        let mut piece = Vec::with_capacity(2 * PIECE);
        let events = if servers.is_empty() { 0 } else { events };
        for _ in 0..events {
            let server = &mut servers[random.usize(..objects)];
            version += 1;
            server.change(version);
            piece.extend_from_slice(br#"{"type":"MODIFIED","object":"#);
            server.write(&template, &mut piece);
            piece.extend_from_slice(b"}\n");
            if piece.len() >= PIECE {
                pieces.push(Bytes::from(std::mem::replace(&mut piece, Vec::with_capacity(2 * PIECE))));
            }
        }
        pieces.push(piece.into());
        let digest = digest(&servers);

        for server in servers.iter_mut().step_by(10) {
            version += 1;
            server.change(version);
        }
        let later = Collection::new(&template, &servers, version);
        Ok(Self { first, events: pieces, event_count: events as u64, digest, later })
    }
}

// === impl Collection ===

impl Collection {
    fn new(template: &Template, servers: &[GameServer], version: u64) -> Self {
        let mut text = Vec::new();
        let mut starts = Vec::with_capacity(servers.len() + 1);
        for server in servers {
            starts.push(text.len());
            server.write(template, &mut text);
            text.push(b',');
        }
        starts.push(text.len());
        Self { version, digest: digest(servers), text: text.into(), starts }
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes a list of all of them has, but for what surrounds them.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The answer to a list of up to `limit` objects from the one numbered `from`, in pieces of at most 64 KiB.
    pub fn list(&self, from: usize, limit: usize) -> Vec<Bytes> {
        let from = from.min(self.len());
        let until = from.saturating_add(limit).min(self.len());
        let (next, left) = match self.len() - until {
            0 => (String::new(), String::new()),
            left => (until.to_string(), format!(r#","remainingItemCount":{left}"#)),
        };
        let head = format!(
            r#"{{"apiVersion":"agones.dev/v1","kind":"GameServerList","metadata":{{"continue":"{next}","resourceVersion":"{}"{left}}},"items":["#,
            self.version
        );
        let mut pieces = vec![head.into()];
        let mut items =
            self.text.slice(self.starts[from]..self.starts[until].saturating_sub(1).max(self.starts[from]));
        while !items.is_empty() {
            pieces.push(items.split_to(items.len().min(PIECE)));
        }
        pieces.push(Bytes::from_static(b"]}\n"));
        pieces
    }

    /// The objects as the ADDED events of a streaming list, and the bookmark that ends it.
    pub fn initial_events(&self) -> Vec<Bytes> {
        let mut pieces = Vec::new();
        let mut piece = Vec::with_capacity(2 * PIECE);
        for range in self.starts.windows(2) {
            piece.extend_from_slice(br#"{"type":"ADDED","object":"#);
            piece.extend_from_slice(&self.text[range[0]..range[1] - 1]);
            piece.extend_from_slice(b"}\n");
            if piece.len() >= PIECE {
                pieces.push(Bytes::from(std::mem::replace(&mut piece, Vec::with_capacity(2 * PIECE))));
            }
        }
        let bookmark = format!(
            r#"{{"type":"BOOKMARK","object":{{"apiVersion":"agones.dev/v1","kind":"GameServer","metadata":{{"resourceVersion":"{}","annotations":{{"k8s.io/initial-events-end":"true"}}}}}}}}"#,
            self.version
        );
        piece.extend_from_slice(bookmark.as_bytes());
        piece.push(b'\n');
        pieces.push(piece.into());
        pieces
    }
}

// === impl GameServer ===

impl GameServer {
    fn new(index: usize, random: &mut fastrand::Rng) -> Self {
        // As the API server makes names: without vowels, and here without chance of two that are equal.
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut suffix = String::new();
        let mut rest = index * 17 + 1_000_003;
        for _ in 0..5 {
            suffix.push(char::from(LETTERS[rest % LETTERS.len()]));
            rest /= LETTERS.len();
        }
        let (a, b) = (random.u64(..), random.u64(..));
        Self {
            name: format!("simple-game-server-ckv94-{suffix}"),
            uid: format!(
                "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
                a >> 32,
                a >> 16 & 0xffff,
                a & 0xfff,
                b >> 48 & 0xfff,
                b & 0xffff_ffff_ffff
            ),
            created: index as u32 / 20,
            port: 7000 + random.u16(..1000),
            node: (index / SERVERS_ON_A_NODE) as u32,
            pod: (index % SERVERS_ON_A_NODE) as u32,
            version: 0,
            generation: 7 + random.u32(..20),
            allocated: random.u64(..1_000_000_000),
            state: if random.bool() { "Ready" } else { "Allocated" },
        }
    }

    /// A player comes or goes.
    fn change(&mut self, version: u64) {
        self.version = version;
        self.generation += 1;
        if self.state == "Ready" {
            self.state = "Allocated";
            self.allocated = version % 1_000_000_000;
        } else {
            self.state = "Ready";
        }
    }

    fn write(&self, template: &Template, into: &mut Vec<u8>) {
        let node = self.node;
        template.write(into, |slot, into| {
            // Writing into memory does not fail.
            let _ = match slot {
                Slot::Name => write!(into, "{}", self.name),
                Slot::Uid => write!(into, "{}", self.uid),
                Slot::ResourceVersion => write!(into, "{}", self.version),
                Slot::Generation => write!(into, "{}", self.generation),
                Slot::Created => {
                    let (minute, second) = (self.created / 60 % 60, self.created % 60);
                    write!(into, "2026-11-29T11:{minute:02}:{second:02}Z")
                }
                Slot::LastAllocated => {
                    let second = self.allocated % 60;
                    write!(into, "2026-11-29T12:39:{second:02}.{:09}Z", self.allocated)
                }
                Slot::Port => write!(into, "{}", self.port),
                Slot::Node => write!(into, "node-{node}"),
                Slot::ExternalAddress => write!(into, "203.0.{}.{}", node / 250, node % 250 + 1),
                Slot::InternalAddress => write!(into, "10.1.{}.{}", node / 250, node % 250 + 1),
                Slot::PodAddress => write!(into, "10.{}.{}.{}", 2 + node / 250, node % 250, self.pod + 1),
                Slot::State => write!(into, "{}", self.state),
            };
        });
    }
}

fn digest(servers: &[GameServer]) -> u64 {
    servers.iter().fold(0, |sum, server| {
        sum.wrapping_add(digest_of(&server.name, &server.version.to_string(), server.state))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(pieces: &[Bytes]) -> serde_json::Value {
        serde_json::from_slice(&pieces.concat()).unwrap()
    }

    #[test]
    fn the_same_sizes_give_the_same_bytes() {
        let (a, b) = (Data::new(50, 70).unwrap(), Data::new(50, 70).unwrap());
        assert_eq!(a.first.list(0, usize::MAX), b.first.list(0, usize::MAX));
        assert_eq!(a.events, b.events);
        assert_eq!((a.digest, a.later.digest), (b.digest, b.later.digest));
    }

    #[test]
    fn objects_differ_and_are_as_large_as_recorded() {
        let data = Data::new(2_000, 0).unwrap();
        let list = json(&data.first.list(0, usize::MAX));
        let items = list["items"].as_array().unwrap();
        for pointer in
            ["/metadata/name", "/metadata/uid", "/metadata/resourceVersion", "/status/addresses/2/address"]
        {
            let mut values: Vec<_> =
                items.iter().map(|item| item.pointer(pointer).unwrap().as_str()).collect();
            values.sort_unstable();
            values.dedup();
            assert_eq!(values.len(), 2_000, "{pointer}");
        }
        let size = data.first.bytes() / 2_000;
        assert!((2_820..2_900).contains(&size), "{size}");
    }

    #[test]
    fn pages_together_are_the_list() {
        let data = Data::new(25, 0).unwrap();
        let whole = json(&data.first.list(0, usize::MAX));
        let (mut items, mut from) = (Vec::new(), 0);
        loop {
            let page = json(&data.first.list(from, 10));
            items.extend(page["items"].as_array().unwrap().clone());
            match page["metadata"]["continue"].as_str().unwrap() {
                "" => break,
                token => from = token.parse().unwrap(),
            }
        }
        assert_eq!(whole["items"].as_array(), Some(&items));
        assert_eq!(json(&data.first.list(25, 10))["items"], serde_json::json!([]));
    }
}
