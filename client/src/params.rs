use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What to list. The default lists everything, as new as the server has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListParams {
    /// Only objects with matching labels.
    pub label_selector: String,
    /// Only objects with matching fields.
    pub field_selector: String,
    /// The most objects in one answer; 0 for all.
    pub limit: u32,
    /// Where the last page ended, from its metadata.
    pub continue_token: String,
    /// The version to list at: `""` for the newest, `"0"` for any.
    pub resource_version: String,
    /// How the version is meant.
    pub version_match: Option<VersionMatch>,
}

/// What to watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchParams {
    /// Only objects with matching labels.
    pub label_selector: String,
    /// Only objects with matching fields.
    pub field_selector: String,
    /// The version after which to begin; `""` and `"0"` begin with what there is.
    pub resource_version: String,
    /// Whether the server may send bookmarks.
    pub bookmarks: bool,
    /// After how long the server ends the watch, in whole seconds; its own choice if none.
    pub timeout: Option<Duration>,
    /// Whether to begin with an event for each object that is there, and a bookmark that says that they were all: a streaming
    /// list, of nothing older than the version.
    pub send_initial_events: bool,
}

/// How the `resourceVersion` of a list is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VersionMatch {
    /// At exactly this version.
    Exact,
    /// At this version or a newer one.
    NotOlderThan,
}

/// How to delete. The default leaves everything to the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteParams {
    /// What becomes of the objects that this one owns.
    pub propagation: Option<Propagation>,
    /// Refuse if the object has another uid.
    pub uid: String,
    /// Refuse if the object has another version.
    pub resource_version: String,
    /// How many seconds the object may take to end, if it can end with grace as pods do; 0 is at once. What it says itself if nothing
    /// is given.
    pub grace_period_seconds: Option<u32>,
}

/// What becomes of the objects that a deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// What may stand in a query as it is; RFC 3986 calls it unreserved.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A target being built: a path, then parameters.
pub(crate) struct Target(String);

impl Target {
    pub(crate) fn new(path: String) -> Self {
        Self(path)
    }

    /// Adds a parameter unless its value is empty.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        if !value.is_empty() {
            self.0.push(if self.0.contains('?') { '&' } else { '?' });
            self.0.push_str(name);
            self.0.push('=');
            self.0.extend(utf8_percent_encode(value, ESCAPED));
        }
        self
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

impl ListParams {
    pub(crate) fn target(&self, path: String) -> String {
        let limit = if self.limit == 0 { String::new() } else { self.limit.to_string() };
        Target::new(path)
            .with("labelSelector", &self.label_selector)
            .with("fieldSelector", &self.field_selector)
            .with("limit", &limit)
            .with("continue", &self.continue_token)
            .with("resourceVersion", &self.resource_version)
            .with("resourceVersionMatch", self.version_match.map_or("", VersionMatch::as_str))
            .finish()
    }
}

impl WatchParams {
    pub(crate) fn target(&self, path: String) -> String {
        let timeout = self.timeout.map(|timeout| timeout.as_secs().to_string()).unwrap_or_default();
        Target::new(path)
            .with("watch", "true")
            .with("labelSelector", &self.label_selector)
            .with("fieldSelector", &self.field_selector)
            .with("resourceVersion", &self.resource_version)
            .with("allowWatchBookmarks", if self.bookmarks { "true" } else { "" })
            .with("timeoutSeconds", &timeout)
            .with("sendInitialEvents", if self.send_initial_events { "true" } else { "" })
            .with("resourceVersionMatch", if self.send_initial_events { "NotOlderThan" } else { "" })
            .finish()
    }
}

impl VersionMatch {
    fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "Exact",
            Self::NotOlderThan => "NotOlderThan",
        }
    }
}

impl Propagation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_escaped_and_empty_ones_left_out() {
        let params = ListParams { label_selector: "a in (b,c)".into(), limit: 500, ..Default::default() };
        assert_eq!(params.target("/x".into()), "/x?labelSelector=a%20in%20%28b%2Cc%29&limit=500");
        assert_eq!(ListParams::default().target("/x".into()), "/x");
    }

    #[test]
    fn a_watch_says_so() {
        let params = WatchParams {
            resource_version: "5".into(),
            bookmarks: true,
            timeout: Some(Duration::from_millis(300_900)),
            ..Default::default()
        };
        let want = "/x?watch=true&resourceVersion=5&allowWatchBookmarks=true&timeoutSeconds=300";
        assert_eq!(params.target("/x".into()), want);
    }
}
