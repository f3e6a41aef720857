//! From HTTP requests to verbs, and back.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT, WARNING,
};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body::Body;
use http_body_util::{BodyExt, Limited};
use lariat_api::Status;
use ring::digest::{SHA256, digest};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::aggregation::{Aggregated, AggregatedRequest, Loopback, User, Verb};
use crate::answer::AnswerBody;
use crate::builtin::{self, Strategy, delete_options_from_protobuf};
use crate::context::Context;
use crate::failure;
use crate::faults::{Asking, End, Faults, Line, StaleRead, Strike};
use crate::handle::Seen;
use crate::kinds::Served;
use crate::options::ListOptions;
use crate::patch::PatchKind;
use crate::reply::{Reply, ReplyBody};
use crate::request::{Encoding, Form, Path, Query, ResourcePath};
use crate::state::State;
use crate::verbs::{self, Sent};
use crate::{apply, context, discovery, schema, yaml};

pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
    /// Something was written that the background work may be about.
    pub(crate) written: Arc<Notify>,
    /// Who may ask for anything but health and version; everybody if there is none.
    pub(crate) token: Option<String>,
    /// All requests, unless they are not to be remembered.
    pub(crate) seen: Option<Mutex<Vec<Seen>>>,
    pub(crate) faults: Faults,
}

/// The largest body, as the real server's.
const MAX_BODY: usize = 3 << 20;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A request whose body was read.
struct Asked {
    method: Method,
    path: Path,
    query: Query,
    headers: HeaderMap,
    body: Bytes,
    /// Reads find the watch cache standing still.
    stale: Option<StaleRead>,
    /// It comes from this process, which needs no token.
    is_loopback: bool,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request that came over a line. Nothing that it holds makes this fail but a connection that breaks, or is to.
    pub(crate) async fn answer<B>(
        self: Arc<Self>,
        request: Request<B>,
        line: Arc<Line>,
        is_loopback: bool,
    ) -> io::Result<Response<AnswerBody>>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let target = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                return Ok(respond(failure::too_large().into(), Encoding::accepted(&parts.headers)));
            }
            Err(error) => return Err(io::Error::other(error)),
        };
        if let Some(seen) = &self.seen {
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let request = Seen { method: parts.method.to_string(), target: target.clone(), body };
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        }
        let mut asked = Asked {
            method: parts.method,
            path: Path::parse(parts.uri.path()),
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            headers: parts.headers,
            body,
            stale: None,
            is_loopback,
        };
        tracing::debug!(method = %asked.method, target, user_agent = asked.user_agent(), "request");
        if !self.faults.is_active() {
            return Ok(respond(self.carry_out(&asked).await, Encoding::accepted(&asked.headers)));
        }
        let strike = self.faults.strike(&asked.asking(parts.uri.path()));
        // A stream of HTTP/2 is reset alone.
        let line = Some(line).filter(|_| parts.version != Version::HTTP_2);
        self.answer_struck(&mut asked, strike, line).await
    }

    /// Answers a request to which something happens on the way.
    async fn answer_struck(
        self: &Arc<Self>,
        asked: &mut Asked,
        strike: Strike,
        line: Option<Arc<Line>>,
    ) -> io::Result<Response<AnswerBody>> {
        let Strike { delay, end, stale, lose_response, events, cut } = strike;
        if !delay.is_zero() {
            sleep(delay).await;
        }
        let reset = |line: Option<Arc<Line>>| {
            if let Some(line) = line {
                line.reset();
            }
            Err(io::ErrorKind::ConnectionReset.into())
        };
        asked.stale = stale;
        let mut reply = match end {
            None => self.carry_out(asked).await,
            Some(End::Reset) => return reset(line),
            Some(End::BlackHole) => std::future::pending().await,
            Some(End::Answer(status)) => Reply::from(*status),
        };
        if let Some(lost) = lose_response.filter(|_| reply.code < 400) {
            lost.happened();
            return reset(line);
        }
        if let ReplyBody::Watch(body) = &mut reply.body {
            body.set_faults(events);
        }
        let response = respond(reply, Encoding::accepted(&asked.headers));
        Ok(match cut {
            Some((bytes, chosen)) => response.map(|body| body.cut(bytes, line, chosen)),
            None => response,
        })
    }

    async fn carry_out(self: &Arc<Self>, asked: &Asked) -> Reply {
        let reply = self.reply(asked).await.unwrap_or_else(Reply::from);
        if asked.method != Method::GET {
            self.written.notify_one();
        }
        reply
    }

    async fn reply(self: &Arc<Self>, asked: &Asked) -> Result<Reply, Status> {
        let is_open = matches!(&asked.path, Path::Other(path)
            if matches!(path.first().map(String::as_str), Some("livez" | "readyz" | "healthz" | "version")));
        if !is_open && !asked.is_loopback && !self.is_authorized(&asked.headers) {
            return Err(failure::unauthorized());
        }
        match &asked.path {
            Path::Other(path) => discovery::answer(&self.state().kinds, path, &asked.headers),
            Path::Resource(path) => self.resource(asked, path).await,
        }
    }

    fn is_authorized(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        // Digests, so that how long this takes says nothing of how much was guessed.
        let digest = |token: &str| digest(&SHA256, token.as_bytes());
        let given = given.and_then(|value| value.strip_prefix("Bearer "));
        given.is_some_and(|given| digest(given).as_ref() == digest(token).as_ref())
    }

    async fn resource(self: &Arc<Self>, asked: &Asked, path: &ResourcePath) -> Result<Reply, Status> {
        let form = Form::accepted(&asked.headers)?;
        let aggregated = self.state().kinds.aggregated(&path.group, &path.version).cloned();
        if let Some(aggregated) = aggregated {
            return self.aggregated(asked, path, &aggregated).await;
        }
        let served = self.state().kinds.find(&path.group, &path.version, &path.resource).cloned();
        let Some(served) = served.filter(|served| served.namespaced || path.namespace.is_empty()) else {
            return if self.state().kinds.is_built_in(&path.group) {
                Err(failure::no_such_path())
            } else {
                Ok(Reply::no_such_page())
            };
        };
        let was_cold = self.state().kinds.warm_up(&served.storage);
        let user_agent = asked.user_agent();
        let context = Context {
            served,
            namespace: path.namespace.clone(),
            name: path.name.clone(),
            subresource: path.subresource.clone(),
            query: asked.query.clone(),
            form: form.of_query(&asked.query)?,
            manager: apply::manager_name(asked.query.text("fieldManager"), user_agent).into_owned(),
            now: self.state().now(),
        };
        let is_missing = if context.subresource.is_empty() {
            !context.name.is_empty() && !context.served.has_objects()
        } else {
            !context.served.has_subresource(&context.subresource)
        };
        if is_missing {
            return if context.served.strategy().is_some() {
                Err(failure::no_such_path())
            } else {
                Ok(Reply::no_such_page())
            };
        }
        if context.subresource == "scale" {
            return self.scale(asked, &context);
        }
        let is_collection = context.name.is_empty();
        let verb = verb(&asked.method, is_collection, context.query.flag("watch"));
        if context.subresource.is_empty() && !verb.is_some_and(|verb| context.served.has_verb(verb)) {
            return Err(failure::method_not_allowed());
        }
        if verb == Some("watch") && Encoding::accepted(&asked.headers) == Encoding::Yaml {
            // A stream of documents is no YAML.
            return Err(failure::not_acceptable());
        }
        if was_cold && matches!(verb, Some("list" | "watch")) {
            return Err(failure::initializing());
        }
        match (&asked.method, is_collection) {
            (&Method::GET, true) if context.query.flag("watch") => {
                self.watch(&context, asked.stale.as_ref()).await
            }
            (&Method::GET, true) => self.list(&context, asked.stale.as_ref()).await,
            (&Method::GET, false) if context.query.flag("watch") && context.subresource.is_empty() => {
                self.watch(&context, asked.stale.as_ref()).await
            }
            (&Method::GET, false) => self.get(&context, asked.stale.as_ref()).await,
            (&Method::POST, true) if context.served.namespaced && context.namespace.is_empty() => {
                Err(failure::method_not_allowed())
            }
            (&Method::POST, true) if context.served.strategy() == Some(Strategy::Binding) => {
                let body = asked.object(&context.served)?.object;
                verbs::bind_pod(&mut self.state(), &context, &body)
            }
            (&Method::POST, true)
                if let Some(review) = context.served.strategy().filter(|kind| kind.is_review()) =>
            {
                verbs::review(&context, review, asked.object(&context.served)?)
            }
            (&Method::POST, true) => {
                verbs::create(&mut self.state(), &context, asked.object(&context.served)?)
            }
            (&Method::POST, false) if matches!(&*context.subresource, "binding" | "eviction") => {
                let body = asked.object(&context.served)?.object;
                verbs::act_on_pod(&mut self.state(), &context, &body)
            }
            (&Method::PUT, false) => {
                verbs::update(&mut self.state(), &context, asked.object(&context.served)?)
            }
            (&Method::PATCH, false) => {
                let (kind, body) = asked.patch(context.served.strategy().is_some())?;
                verbs::patch(&mut self.state(), &context, kind, &body)
            }
            (&Method::DELETE, false) if context.subresource.is_empty() => {
                verbs::delete(&mut self.state(), &context, &asked.options()?)
            }
            (&Method::DELETE, true) => {
                let list = ListOptions::parse(&context.query)?;
                verbs::delete_collection(&mut self.state(), &context, &list, &asked.options()?)
            }
            _ => Err(failure::method_not_allowed()),
        }
    }

    /// A resource of a further API.
    async fn aggregated(
        self: &Arc<Self>,
        asked: &Asked,
        path: &ResourcePath,
        aggregated: &Aggregated,
    ) -> Result<Reply, Status> {
        let found = aggregated.find(&path.resource).filter(|found| {
            path.subresource.is_empty() && (found.kind().is_namespaced() || path.namespace.is_empty())
        });
        let Some(resource) = found else { return Err(failure::no_such_path()) };
        let verb = verb(&asked.method, path.name.is_empty(), asked.query.flag("watch")).and_then(Verb::of);
        let is_of_one = !matches!(verb, Some(Verb::List | Verb::DeleteCollection));
        let is_elsewhere = is_of_one && resource.kind().is_namespaced() && path.namespace.is_empty();
        let verb = verb.filter(|verb| resource.allows(*verb) && !is_elsewhere);
        let verb = verb.ok_or_else(failure::method_not_allowed)?;
        let mut warnings = Vec::new();
        let body = match verb {
            Verb::Create | Verb::Update => {
                let Sent { mut object, duplicates } = asked.object_of(resource.kind().kind())?;
                let validation = context::validation(&asked.query)?;
                aggregated.identify(resource, path, &mut object)?;
                warnings = aggregated.prune(resource, &mut object, duplicates, validation)?;
                object
            }
            Verb::Patch => asked.patch(true)?.1,
            Verb::Delete | Verb::DeleteCollection => asked.options()?,
            Verb::Get | Verb::List => Value::Null,
        };
        let user = User {
            name: builtin::USER.to_owned(),
            uid: builtin::USER.to_owned(),
            groups: builtin::GROUPS.map(str::to_owned).into(),
        };
        let request = AggregatedRequest {
            verb,
            group: path.group.clone(),
            version: path.version.clone(),
            resource: path.resource.clone(),
            namespace: path.namespace.clone(),
            name: path.name.clone(),
            query: asked.query.pairs().to_vec(),
            media_type: asked.media_type().to_owned(),
            body,
            user,
            user_agent: asked.user_agent().to_owned(),
            now: self.state().now(),
            server: Loopback(Arc::downgrade(self)),
        };
        aggregated.answer(resource, request, warnings).await
    }

    /// The scale of a custom resource.
    fn scale(&self, asked: &Asked, context: &Context) -> Result<Reply, Status> {
        let mut state = self.state();
        match asked.method {
            Method::GET => verbs::get_scale(&state, context),
            Method::PUT => verbs::put_scale(&mut state, context, &asked.object(&context.served)?.object),
            Method::PATCH => {
                let (kind, patch) = asked.patch(false)?;
                verbs::patch_scale(&mut state, context, kind, &patch)
            }
            _ => Err(failure::method_not_allowed()),
        }
    }
}

impl Asked {
    /// The request as rules for faults see it.
    fn asking<'a>(&'a self, raw_path: &'a str) -> Asking<'a> {
        Asking {
            method: &self.method,
            raw_path,
            path: &self.path,
            query: &self.query,
            headers: &self.headers,
        }
    }

    /// How the client calls itself.
    fn user_agent(&self) -> &str {
        self.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The object of the body.
    fn object(&self, served: &Served) -> Result<Sent, Status> {
        match served.strategy().filter(|kind| kind.is_typed()) {
            Some(strategy) if self.media_type() == PROTOBUF => {
                let object = strategy.from_protobuf(&self.body).map_err(failure::bad_request)?;
                Ok(Sent { object, duplicates: Vec::new() })
            }
            _ => self.object_of(&served.kind),
        }
    }

    /// The object of the body, which is to be of a kind, in JSON or YAML.
    fn object_of(&self, kind: &str) -> Result<Sent, Status> {
        const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
        let parsed = match self.media_type() {
            "" | "application/json" => serde_json::from_slice(&self.body).map_err(|error| error.to_string()),
            "application/yaml" => from_yaml(&self.body),
            _ => return Err(failure::unsupported_media_type(ACCEPTED)),
        };
        let object: Value = parsed.map_err(|error| {
            failure::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse \
                 error: {error}"
            ))
        })?;
        if !object.is_object() {
            return Err(failure::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind"
            )));
        }
        let duplicates = schema::duplicate_fields(&self.body);
        Ok(Sent { object, duplicates: duplicates.iter().map(|path| schema::duplicate_field(path)).collect() })
    }

    /// The patch of the body. Strategic ones are for built-in kinds only.
    fn patch(&self, is_built_in: bool) -> Result<(PatchKind, Value), Status> {
        const CUSTOM: &str =
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        const BUILT_IN: &str = "application/json-patch+json, application/merge-patch+json, \
            application/strategic-merge-patch+json, application/apply-patch+yaml, application/apply-patch+cbor";
        let kind = PatchKind::from_media_type(self.media_type());
        let kind = kind.filter(|kind| is_built_in || *kind != PatchKind::Strategic);
        let kind =
            kind.ok_or_else(|| failure::unsupported_media_type(if is_built_in { BUILT_IN } else { CUSTOM }))?;
        let parsed = match kind {
            PatchKind::Apply => from_yaml(&self.body),
            _ => serde_json::from_slice(&self.body).map_err(|error| error.to_string()),
        };
        let body = parsed.map_err(|error| failure::bad_request(format!("error decoding patch: {error}")))?;
        Ok((kind, body))
    }

    /// The options of a deletion, null if there are none.
    fn options(&self) -> Result<Value, Status> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        match self.media_type() {
            PROTOBUF => delete_options_from_protobuf(&self.body),
            _ => serde_json::from_slice(&self.body).map_err(|error| error.to_string()),
        }
        .map_err(failure::bad_request)
    }

    fn media_type(&self) -> &str {
        let header = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        header.split(';').next().unwrap_or_default().trim()
    }
}

/// A value in YAML, of which JSON is the most usual form.
fn from_yaml(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body)
        .or_else(|_| serde_saphyr::from_slice(body).map_err(|error| error.to_string()))
}

/// What a request asks for, as discovery and permissions call it.
fn verb(method: &Method, is_collection: bool, is_watch: bool) -> Option<&'static str> {
    match (method, is_collection) {
        (&Method::GET, _) if is_watch => Some("watch"),
        (&Method::GET, true) => Some("list"),
        (&Method::GET, false) => Some("get"),
        (&Method::POST, true) => Some("create"),
        (&Method::PUT, false) => Some("update"),
        (&Method::PATCH, false) => Some("patch"),
        (&Method::DELETE, true) => Some("deletecollection"),
        (&Method::DELETE, false) => Some("delete"),
        _ => None,
    }
}

fn respond(reply: Reply, encoding: Encoding) -> Response<AnswerBody> {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    const YAML: HeaderValue = HeaderValue::from_static("application/yaml");
    const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
    const DISCOVERY: HeaderValue =
        HeaderValue::from_static("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let caching = match &reply.body {
        ReplyBody::Discovery(_) => "public",
        _ => "no-cache, private",
    };
    let retry_after = match &reply.body {
        ReplyBody::Json(value) => value["details"]["retryAfterSeconds"].as_u64(),
        _ => None,
    };
    let (kind, body) = match reply.body {
        ReplyBody::Json(value) if encoding == Encoding::Yaml => {
            (YAML, AnswerBody::whole(yaml::document(&value)))
        }
        ReplyBody::Json(value) => (JSON, AnswerBody::whole(value.to_string() + "\n")),
        ReplyBody::Discovery(value) => (DISCOVERY, AnswerBody::whole(value.to_string() + "\n")),
        ReplyBody::Text(text) => (TEXT, AnswerBody::whole(text)),
        ReplyBody::Bytes(media_type, bytes) => {
            (HeaderValue::from_static(media_type), AnswerBody::whole(bytes))
        }
        ReplyBody::Watch(body) => (JSON, AnswerBody::watch(body)),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(reply.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    if let Some(seconds) = retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    for warning in reply.warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            headers.append(WARNING, value);
        }
    }
    response
}
