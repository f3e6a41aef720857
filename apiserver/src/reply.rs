//! Answers, before they are bytes.

use lariat_api::Status;
use serde_json::Value;

use crate::failure;
use crate::watch::WatchBody;

pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) body: ReplyBody,
    /// What the client should know, one `Warning` header each.
    pub(crate) warnings: Vec<String>,
}

pub(crate) enum ReplyBody {
    Json(Value),
    Text(String),
    /// The aggregated form of discovery, which has a media type of its own.
    Discovery(Value),
    /// Bytes of a media type.
    Bytes(&'static str, Vec<u8>),
    Watch(Box<WatchBody>),
}

impl Reply {
    pub(crate) fn json(code: u16, value: Value) -> Self {
        Self { code, body: ReplyBody::Json(value), warnings: Vec::new() }
    }

    pub(crate) fn discovery(value: Value) -> Self {
        Self { code: 200, body: ReplyBody::Discovery(value), warnings: Vec::new() }
    }

    pub(crate) fn text(code: u16, text: impl Into<String>) -> Self {
        Self { code, body: ReplyBody::Text(text.into()), warnings: Vec::new() }
    }

    pub(crate) fn bytes(media_type: &'static str, bytes: Vec<u8>) -> Self {
        Self { code: 200, body: ReplyBody::Bytes(media_type, bytes), warnings: Vec::new() }
    }

    pub(crate) fn watch(body: WatchBody) -> Self {
        Self { code: 200, body: ReplyBody::Watch(Box::new(body)), warnings: Vec::new() }
    }

    /// The answer to a path that nothing is served at.
    pub(crate) fn no_such_page() -> Self {
        Self::text(404, "404 page not found\n")
    }

    #[must_use]
    pub(crate) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }
}

impl From<Status> for Reply {
    fn from(status: Status) -> Self {
        let code = if status.code == 0 { 200 } else { status.code };
        Self::json(code, failure::body(&status))
    }
}
