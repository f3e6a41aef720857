use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use lariat_api::{Status, fields, labels};
use serde_json::{Value, json};

use super::{answer, no_such};
use crate::context::Context;
use crate::failure;
use crate::form;
use crate::options::{Continue, ListOptions, Version, WatchOptions};
use crate::reply::Reply;
use crate::state::State;
use crate::storage::{Storage, Stored};
use crate::watch::{self, Event, Selection, Source, WatchBody};

/// How a list ended.
pub(crate) enum Listed {
    Done(Reply),
    /// The server has not reached the version yet.
    Wait(u64),
}

pub(crate) fn get(storage: &Storage, context: &Context) -> Result<Reply, Status> {
    let live = storage.get(&context.served.storage, &context.key(&context.name));
    let live = live.ok_or_else(|| no_such(context))?;
    Ok(answer(context, 200, &live.object, Vec::new()))
}

pub(crate) fn list(storage: &Storage, context: &Context, options: &ListOptions) -> Result<Listed, Status> {
    let selection = selection(context, &options.labels, &options.fields)?;
    let current = storage.revision();
    let revision = match (&options.continue_from, options.version) {
        (Some(Continue { rv, .. }), _) => u64::try_from(*rv).unwrap_or(current),
        (None, Version::At(revision)) if revision > current => return Ok(Listed::Wait(revision)),
        (None, Version::At(revision)) if options.exact => revision,
        _ => current,
    };
    let stored = storage.list_at(&context.served.storage, &context.namespace, revision);
    let stored = match (stored, &options.continue_from) {
        (Ok(stored), _) => stored,
        (Err(_), Some(from)) => return Ok(Listed::Done(expired_token(from))),
        (Err(_), None) => {
            return Err(failure::expired("The resourceVersion for the provided list is too old."));
        }
    };

    let start = options.continue_from.as_ref().map_or("", Continue::start);
    // The token's keys are as in the path: without the namespace where the path has it.
    let prefix = if context.namespace.is_empty() { 0 } else { context.namespace.len() + 1 };
    let rest = stored.into_iter().filter(|(key, _)| key.get(prefix..).is_some_and(|key| key >= start));
    let selected: Vec<(String, Arc<Stored>)> =
        rest.filter(|(_, stored)| selection.matches(&stored.object)).collect();
    let limit =
        if options.limit == 0 { usize::MAX } else { usize::try_from(options.limit).unwrap_or(usize::MAX) };
    let left = selected.len().saturating_sub(limit);
    let page = &selected[..selected.len() - left];
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if let (true, Some((last, _))) = (left > 0, page.last()) {
        let pinned = i64::try_from(revision).unwrap_or(i64::MAX);
        let token = Continue::after(pinned, last.get(prefix..).unwrap_or_default());
        metadata["continue"] = token.encode().into();
        if options.labels.is_empty() && options.fields.is_empty() {
            metadata["remainingItemCount"] = left.into();
        }
    }
    let objects: Vec<&Value> = page.iter().map(|(_, stored)| &stored.object).collect();
    let body = form::list(&context.served, &objects, metadata, context.form, context.now);
    Ok(Listed::Done(Reply::json(200, body)))
}

/// Begins a watch, of a cache that stands still if there is one. It cannot begin if a version is required that is not reached.
pub(crate) fn watch(
    state: &mut State,
    context: &Context,
    options: &WatchOptions,
    required: Option<u64>,
    cache: Option<&Storage>,
) -> Result<Reply, Status> {
    let mut selection = selection(context, &options.labels, &options.fields)?;
    if !context.name.is_empty() {
        let only = fields::Selector::equals("metadata.name", context.name.as_str());
        selection.fields =
            selection.fields.and(only.map_err(|error| failure::bad_request(error.to_string()))?);
    }
    let storage = cache.unwrap_or(&state.storage);
    let current = storage.revision();
    // From no version, or from any, a watch is a list first.
    let with_initial = options.initial_events || !matches!(options.version, Version::At(_));
    let initial = match (options.version, required) {
        (_, Some(required)) if required > current => {
            vec![Event::Error(Box::new(failure::too_large_version(required, current)))]
        }
        _ if with_initial => {
            let stored = storage.list(&context.served.storage, &context.namespace);
            let selected = stored.into_iter().filter(|(_, stored)| selection.matches(&stored.object));
            let mut events: Vec<Event> = selected.map(|(_, stored)| Event::Added(stored)).collect();
            if options.bookmarks {
                events.push(Event::InitialEnd(current));
            }
            events
        }
        (Version::At(revision), _) => {
            let up_to = cache.map_or(u64::MAX, Storage::revision);
            watch::missed(&selection, &state.storage, revision, up_to)
        }
        (Version::Unset | Version::Zero, _) => Vec::new(),
    };
    let held = cache.map(|cache| match options.version {
        Version::At(revision) if !with_initial => revision.max(cache.revision()),
        _ => cache.revision(),
    });
    let buffer = state.watchers.add(selection, state.watch_buffer, held);
    let (served, form, clock) = (context.served.clone(), context.form, state.clock.clone());
    let render = Arc::new(move |object: &Value| form::object(&served, object, form, clock.wall()));
    let type_of_bookmarks = (context.served.api_version().into_owned(), context.served.kind.clone());
    let told: Option<Arc<AtomicU64>> = options.bookmarks.then(|| state.told.clone());
    let source = Source::new(initial, buffer, held, options.timeout, told);
    Ok(Reply::watch(WatchBody::new(source, render, type_of_bookmarks)))
}

/// What a list or a watch selects; refused if it names a field that the resource does not offer.
pub(super) fn selection(
    context: &Context,
    labels: &labels::Selector,
    fields: &fields::Selector,
) -> Result<Selection, Status> {
    for requirement in fields.requirements() {
        context.served.check_selectable(requirement.field())?;
    }
    Ok(Selection {
        served: context.served.clone(),
        namespace: context.namespace.clone(),
        labels: labels.clone(),
        fields: fields.clone(),
    })
}

/// The token's version is gone. The failure brings a token that goes on at the newest.
fn expired_token(from: &Continue) -> Reply {
    let status = failure::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    let mut body = failure::body(&status);
    body["metadata"]["continue"] = from.at_newest().encode().into();
    Reply::json(status.code, body)
}
