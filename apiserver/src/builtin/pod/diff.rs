//! The difference between two pod specs, as the server appends it to the error about what may not change.
//!
//! The server shows its internal form of a spec: every field, set or not, under its name in Go, and those of the host's
//! namespaces in the security context. `internal.txt` says which fields those are; it is written like the table of
//! [`super::super::types`], with `s` for text, `b` for bools, `i` for numbers, `v` for what is shown as it is, and `!` after
//! names that are shown as they are in JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use serde_json::Value;

use crate::schema::shared::json;

const TABLE: &str = include_str!("internal.txt");
/// How many unchanged lines are shown around changed ones.
const CONTEXT: usize = 3;
/// Where more lines than this differ, all of them are shown as replaced.
const MAX_LINES: usize = 1_500;

/// The fields of a struct: their names and types.
type Fields = Vec<(&'static str, &'static str)>;

fn fields(name: &str) -> Option<&'static Fields> {
    static STRUCTS: OnceLock<BTreeMap<&'static str, Fields>> = OnceLock::new();
    let parse = |line: &'static str| {
        let mut words = line.split(' ');
        Some((words.next()?, words.filter_map(|word| word.split_once(':')).collect()))
    };
    STRUCTS.get_or_init(|| TABLE.lines().filter_map(parse).collect()).get(name)
}

/// The difference between two specs in the unified format, beginning with a line break; empty if there is none.
pub(super) fn specs(old: &Value, new: &Value) -> String {
    let lines = |spec: &Value| {
        let mut printer = Printer { out: String::new(), spec };
        printer.value("PodSpec", Some(spec), 0);
        printer.out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let hunks = unified(&lines(old), &lines(new));
    if hunks.is_empty() { hunks } else { format!("\n{hunks}") }
}

/// The key of an entry in an object, its value and its type.
type Entry<'a> = (Option<String>, Option<&'a Value>, &'a str);

struct Printer<'a> {
    out: String,
    spec: &'a Value,
}

impl Printer<'_> {
    fn value(&mut self, shape: &str, value: Option<&Value>, depth: usize) {
        let value = value.filter(|value| !value.is_null());
        if let Some(inner) = shape.strip_prefix('*') {
            return match value {
                None => self.out.push_str("null"),
                value => self.value(inner, value, depth),
            };
        }
        if let Some(inner) = shape.strip_prefix("[]") {
            let items = value.and_then(Value::as_array);
            let items = items.map(|items| items.iter().map(|item| (None, Some(item), inner)).collect());
            return self.block('[', ']', items, depth);
        }
        if let Some(inner) = shape.strip_prefix("{}") {
            let entries = value.and_then(Value::as_object);
            let entries = entries.map(|entries| {
                let entries = entries.iter();
                entries.map(|(key, value)| (Some(key.clone()), Some(value), inner)).collect()
            });
            return self.block('{', '}', entries, depth);
        }
        match (shape, value) {
            ("s", value) => {
                let shown = json(value.unwrap_or(&Value::String(String::new())));
                self.out.push_str(&shown);
            }
            ("b", value) => {
                self.out.push_str(if value == Some(&Value::Bool(true)) { "true" } else { "false" });
            }
            ("i", value) => _ = write!(self.out, "{}", value.unwrap_or(&Value::from(0))),
            ("v", value) => self.out.push_str(&value.map_or("null".into(), json)),
            (name, value) => {
                let known = fields(name).map(Vec::as_slice).unwrap_or_default();
                let spec = self.spec;
                let shown = known.iter().filter_map(|(field, shape)| {
                    let (field, optional) =
                        field.split_once('?').map_or((*field, false), |(field, _)| (field, true));
                    let field = field.trim_end_matches('!');
                    let host = matches!(
                        field,
                        "HostNetwork" | "HostPID" | "HostIPC" | "ShareProcessNamespace" | "HostUsers"
                    );
                    let holder = if host && name == "PodSecurityContext" { Some(spec) } else { value };
                    let found = holder.and_then(|holder| find(holder, field));
                    let empty = optional && found.is_none_or(super::super::value::is_empty);
                    (!empty).then(|| (Some(field.to_owned()), found, *shape))
                });
                let shown = shown.collect();
                self.block('{', '}', Some(shown), depth);
            }
        }
    }

    fn block(&mut self, open: char, close: char, entries: Option<Vec<Entry<'_>>>, depth: usize) {
        let Some(entries) = entries else { return self.out.push_str("null") };
        self.out.push(open);
        for (index, (key, value, shape)) in entries.iter().enumerate() {
            self.out.push_str(if index == 0 { "\n" } else { ",\n" });
            self.indent(depth + 1);
            if let Some(key) = key {
                self.out.push_str(&json(&Value::from(key.as_str())));
                self.out.push_str(": ");
            }
            self.value(shape, *value, depth + 1);
        }
        if !entries.is_empty() {
            self.out.push('\n');
            self.indent(depth);
        }
        self.out.push(close);
    }

    fn indent(&mut self, depth: usize) {
        self.out.extend(std::iter::repeat_n(' ', depth));
    }
}

/// The field whose name differs from `name` by upper and lower case only.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let fields = value.as_object()?;
    fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Runs of lines that are kept, removed and added, as ranges of the old and the new lines.
struct Change {
    kept: bool,
    old: std::ops::Range<usize>,
    new: std::ops::Range<usize>,
}

fn unified(old: &[String], new: &[String]) -> String {
    let mut out = String::new();
    for hunk in hunks(changes(old, new)) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let range = |from: usize, to: usize| match to - from {
            1 => format!("{}", from + 1),
            0 => format!("{from},0"),
            length => format!("{},{length}", from + 1),
        };
        let (old_range, new_range) =
            (range(first.old.start, last.old.end), range(first.new.start, last.new.end));
        _ = writeln!(out, "@@ -{old_range} +{new_range} @@");
        for change in &hunk {
            let (removed, added) = (old.get(change.old.clone()), new.get(change.new.clone()));
            let mark = if change.kept { ' ' } else { '-' };
            for line in removed.unwrap_or_default() {
                _ = writeln!(out, "{mark}{line}");
            }
            for line in added.filter(|_| !change.kept).unwrap_or_default() {
                _ = writeln!(out, "+{line}");
            }
        }
    }
    out
}

/// Cuts the changes where more lines are kept between two than their contexts have.
fn hunks(changes: Vec<Change>) -> Vec<Vec<Change>> {
    let mut hunks = Vec::new();
    let mut hunk: Vec<Change> = Vec::new();
    let count = changes.len();
    for (index, change) in changes.into_iter().enumerate() {
        let length = change.old.len();
        if !change.kept {
            hunk.push(change);
            continue;
        }
        let head = if index == 0 { 0 } else { length.min(CONTEXT) };
        let tail = if index + 1 == count { 0 } else { length.min(CONTEXT) };
        if head + tail >= length && index > 0 && index + 1 < count {
            hunk.push(change);
            continue;
        }
        let part = |from: usize, to: usize| Change {
            kept: true,
            old: change.old.start + from..change.old.start + to,
            new: change.new.start + from..change.new.start + to,
        };
        if index > 0 {
            hunk.push(part(0, head));
            hunks.push(std::mem::take(&mut hunk));
        }
        if tail > 0 {
            hunk.push(part(length - tail, length));
        }
    }
    if hunk.iter().any(|change| !change.kept) {
        hunks.push(hunk);
    }
    hunks
}

fn changes(old: &[String], new: &[String]) -> Vec<Change> {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - prefix;
    let suffix =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let middle_old = old.get(prefix..old.len() - suffix).unwrap_or_default();
    let middle_new = new.get(prefix..new.len() - suffix).unwrap_or_default();
    let mut changes = Vec::new();
    push(&mut changes, true, 0..prefix, 0..prefix);
    let (mut old_at, mut new_at) = (prefix, prefix);
    for (old_index, new_index) in common(middle_old, middle_new) {
        let (old_index, new_index) = (prefix + old_index, prefix + new_index);
        push(&mut changes, false, old_at..old_index, new_at..new_index);
        push(&mut changes, true, old_index..old_index + 1, new_index..new_index + 1);
        (old_at, new_at) = (old_index + 1, new_index + 1);
    }
    let (old_end, new_end) = (old.len() - suffix, new.len() - suffix);
    push(&mut changes, false, old_at..old_end, new_at..new_end);
    push(&mut changes, true, old_end..old.len(), new_end..new.len());
    changes
}

fn push(changes: &mut Vec<Change>, kept: bool, old: std::ops::Range<usize>, new: std::ops::Range<usize>) {
    if old.is_empty() && new.is_empty() {
        return;
    }
    match changes.last_mut() {
        Some(last) if last.kept == kept => {
            last.old.end = old.end;
            last.new.end = new.end;
        }
        _ => changes.push(Change { kept, old, new }),
    }
}

/// The places of a longest common subsequence.
fn common(old: &[String], new: &[String]) -> Vec<(usize, usize)> {
    if old.len() > MAX_LINES || new.len() > MAX_LINES {
        return Vec::new();
    }
    let width = new.len() + 1;
    let mut lengths = vec![0_u16; (old.len() + 1) * width];
    let length = |lengths: &[u16], row: usize, column: usize| {
        lengths.get(row * width + column).copied().unwrap_or_default()
    };
    for (row, old_line) in old.iter().enumerate().rev() {
        for (column, new_line) in new.iter().enumerate().rev() {
            let longest = match old_line == new_line {
                true => length(&lengths, row + 1, column + 1) + 1,
                false => length(&lengths, row + 1, column).max(length(&lengths, row, column + 1)),
            };
            if let Some(cell) = lengths.get_mut(row * width + column) {
                *cell = longest;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut places = Vec::new();
    while let (Some(old_line), Some(new_line)) = (old.get(row), new.get(column)) {
        if old_line == new_line {
            places.push((row, column));
            (row, column) = (row + 1, column + 1);
        } else if length(&lengths, row + 1, column) >= length(&lengths, row, column + 1) {
            row += 1;
        } else {
            column += 1;
        }
    }
    places
}
