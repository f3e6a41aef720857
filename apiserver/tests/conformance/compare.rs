//! Two answers, compared.

use std::collections::{BTreeMap, BTreeSet};

use lariat_fixtures::{End, Exchange};
use serde_json::Value;

use crate::target::Answer;

/// What is different in an exchange.
pub(crate) struct Difference {
    /// Its number, from 1.
    pub(crate) exchange: usize,
    pub(crate) name: String,
    /// What, a line each.
    pub(crate) what: Vec<String>,
}

/// What the two servers made up for the same thing, by what the recorded one did.
pub(crate) struct Names {
    known: BTreeMap<String, String>,
    /// Whether the server is a real one: others write too, so versions that were equal once may be different now, and it has
    /// a pace of its own.
    is_busy: bool,
}

/// Headers that say something.
const HEADERS: [&str; 4] = ["cache-control", "content-type", "retry-after", "warning"];

impl Names {
    pub(crate) fn new(is_busy: bool) -> Self {
        Self { known: BTreeMap::new(), is_busy }
    }

    /// A target or body of the recording, for this server.
    pub(crate) fn translate(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (theirs, ours) in self.known.iter().filter(|(theirs, ours)| theirs != ours) {
            for (before, after) in [("\"", "\""), ("\\\"", "\\\""), ("=", "&"), ("/", "?"), ("/", "/")] {
                text = text.replace(&format!("{before}{theirs}{after}"), &format!("{before}{ours}{after}"));
            }
            for before in ["=", "/"] {
                if text.ends_with(&format!("{before}{theirs}")) {
                    text.truncate(text.len() - theirs.len());
                    text.push_str(ours);
                }
            }
        }
        text
    }

    /// Whether the two are of the same thing; learns it from the first time that they are seen.
    fn are_one(&mut self, theirs: &str, ours: &str) -> bool {
        self.known.entry(theirs.to_owned()).or_insert_with(|| ours.to_owned()) == ours
    }

    /// The same for versions.
    fn are_one_version(&mut self, theirs: &str, ours: &str) -> bool {
        if self.is_busy {
            self.known.insert(theirs.to_owned(), ours.to_owned());
        }
        self.are_one(theirs, ours)
    }
}

pub(crate) fn compare(
    number: usize,
    exchange: &Exchange,
    answer: &Answer,
    names: &mut Names,
) -> Option<Difference> {
    let mut what = Vec::new();
    if exchange.status != Some(answer.status) {
        what.push(format!("status {:?}, here {}", exchange.status, answer.status));
    }
    for header in HEADERS {
        let (theirs, ours) = (exchange.headers.get(header), answer.headers.get(header));
        if theirs != ours {
            what.push(format!("{header} {theirs:?}, here {ours:?}"));
        }
    }
    let mut theirs = values(&exchange.body());
    let mut ours = values(&answer.body);
    if exchange.end != End::Eof {
        // The recorder did not read to the end.
        ours.truncate(theirs.len());
    }
    if names.is_busy {
        // A real server's bookmarks come when its timer says, between any two events.
        theirs.retain(|event| !is_bookmark(event));
        ours.retain(|event| !is_bookmark(event));
    }
    let bookmarks = [&theirs, &ours].map(|events| events.iter().filter(|event| is_bookmark(event)).count());
    if bookmarks[0] != bookmarks[1] {
        what.push(format!("bookmarks: {}, here {}", bookmarks[0], bookmarks[1]));
        theirs.retain(|event| !is_bookmark(event));
        ours.retain(|event| !is_bookmark(event));
    }
    for (index, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        let path =
            if exchange.request.target.contains("watch=true") { format!("[{index}]") } else { String::new() };
        let mut comparison = Comparison { names, what: &mut what };
        comparison.values(&path, "", false, theirs, ours);
    }
    if theirs.len() != ours.len() {
        what.push(format!("{} values, here {}", theirs.len(), ours.len()));
        let rest = |values: &[Value], from: usize| {
            let rest =
                values.iter().skip(from).map(|value| value.to_string().chars().take(160).collect::<String>());
            rest.collect::<Vec<_>>()
        };
        what.extend(rest(&theirs, ours.len()).into_iter().map(|line| format!("only there: {line}")));
        what.extend(rest(&ours, theirs.len()).into_iter().map(|line| format!("only here: {line}")));
    }
    let name = exchange.name.clone();
    (!what.is_empty()).then_some(Difference { exchange: number, name, what })
}

/// Whether an event only says how far the watch has come.
fn is_bookmark(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && event["object"]["metadata"]["annotations"].is_null()
}

/// The name of an item of a list that has names.
fn item_name(item: &Value) -> Option<&str> {
    item["name"].as_str().or(item["metadata"]["name"].as_str()).or(item["resource"].as_str())
}

/// The JSON values of a body, or its text.
fn values(body: &[u8]) -> Vec<Value> {
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_slice(body).into_iter().collect();
    values.unwrap_or_else(|_| vec![String::from_utf8_lossy(body).trim_end().into()])
}

struct Comparison<'a> {
    names: &'a mut Names,
    what: &'a mut Vec<String>,
}

impl Comparison<'_> {
    fn values(&mut self, path: &str, key: &str, is_failure: bool, theirs: &Value, ours: &Value) {
        match (theirs, ours) {
            (Value::Object(theirs), Value::Object(ours)) => {
                // Owner references are known by a uid in their key.
                let translated = theirs.iter().map(|(key, value)| (self.names.translate(key), value.clone()));
                let theirs: serde_json::Map<_, _> = translated.collect();
                let is_failure = is_failure || ours.get("kind").is_some_and(|kind| kind == "Status");
                let keys: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
                for key in keys {
                    let path = format!("{path}.{key}");
                    match (theirs.get(key), ours.get(key)) {
                        // The words of a failure may be ours; its reason, causes and fields may not.
                        (Some(_), Some(_)) if is_failure && key == "message" => {}
                        (Some(theirs), Some(ours)) => self.values(&path, key, is_failure, theirs, ours),
                        (Some(theirs), None) => self.what.push(format!("{path}: {theirs}, nothing here")),
                        (None, Some(ours)) => self.what.push(format!("{path}: nothing, here {ours}")),
                        (None, None) => {}
                    }
                }
            }
            (Value::Array(theirs), Value::Array(ours))
                if self.is_unordered(key) && theirs.len() == ours.len() =>
            {
                let (theirs, ours) = (sorted(theirs), sorted(ours));
                for (index, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
                    self.values(&format!("{path}[{index}]"), "", is_failure, theirs, ours);
                }
            }
            (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
                for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                    self.values(&format!("{path}[{index}]"), key, is_failure, theirs, ours);
                }
            }
            (Value::Array(theirs), Value::Array(ours))
                if theirs.iter().chain(ours).all(|i| item_name(i).is_some()) =>
            {
                let both = |items: &[Value], others: &[Value]| -> (Vec<Value>, Vec<String>) {
                    let is_there =
                        |item: &&Value| others.iter().any(|other| item_name(other) == item_name(item));
                    let (both, alone): (Vec<&Value>, Vec<&Value>) = items.iter().partition(is_there);
                    let alone = alone.into_iter().filter_map(item_name).map(str::to_owned);
                    (both.into_iter().cloned().collect(), alone.collect())
                };
                let ((theirs, missing), (ours, more)) = (both(theirs, ours), both(ours, theirs));
                self.what.extend(missing.iter().map(|name| format!("missing: {path}: {name}")));
                self.what.extend(more.iter().map(|name| format!("{path}: {name} is only here")));
                let names = |items: &[Value]| {
                    items.iter().map(|item| item_name(item).map(str::to_owned)).collect::<Vec<_>>()
                };
                if names(&theirs) != names(&ours) {
                    self.what.push(format!(
                        "{path}: in another order: {:?}, here {:?}",
                        names(&theirs),
                        names(&ours)
                    ));
                }
                for theirs in &theirs {
                    if let Some(ours) = ours.iter().find(|ours| item_name(ours) == item_name(theirs)) {
                        let path = format!("{path}.{}", item_name(ours).unwrap_or_default());
                        self.values(&path, key, is_failure, theirs, ours);
                    }
                }
            }
            (Value::String(theirs), Value::String(ours)) if self.are_alike(key, theirs, ours) => {}
            (theirs, ours) if theirs == ours => {}
            (theirs, ours) => self.what.push(format!("{path}: {theirs}, here {ours}")),
        }
    }

    /// Whether the real server leaves the order of a list to chance: that of mistakes, of managers of one second, and of the
    /// resources of a group.
    fn is_unordered(&self, key: &str) -> bool {
        key == "causes" || matches!(key, "managedFields" | "resources") && self.names.is_busy
    }

    fn are_alike(&mut self, key: &str, theirs: &str, ours: &str) -> bool {
        match key {
            "uid" => self.names.are_one(theirs, ours),
            "resourceVersion" | "continue" => self.names.are_one_version(theirs, ours),
            "name" if theirs.starts_with("gen-") => {
                ours.starts_with("gen-") && self.names.are_one(theirs, ours)
            }
            // Of a table: a request may be answered in the next second.
            "cells" if self.names.is_busy && is_age(theirs) => is_age(ours),
            "gitVersion" | "gitCommit" | "goVersion" | "compiler" | "platform" => true,
            _ => is_time(theirs) && is_time(ours),
        }
    }
}

/// The same list in an order of its own.
fn sorted(list: &[Value]) -> Vec<Value> {
    let by = |item: &Value| {
        ["field", "reason", "manager", "operation", "subresource", "name", "resource"]
            .map(|key| item[key].to_string())
    };
    let mut list = list.to_vec();
    list.sort_by_key(by);
    list
}

fn is_age(text: &str) -> bool {
    text.strip_suffix('s').is_some_and(|seconds| seconds.parse::<u8>().is_ok())
}

fn is_time(text: &str) -> bool {
    let form: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    matches!(form.as_str(), "0000-00-00T00:00:00Z" | "0000-00-00T00:00:00.000000Z")
}
