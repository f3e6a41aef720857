//! Policies that ask somebody else over HTTP (FAS-6).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use lariat::api::Object;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use rustls::{ClientConfig, RootCertStore};
use serde::Serialize;
use serde_json::{Map, Value};

use super::policy::Target;
use crate::gates::{FeatureGates, Gate};
use crate::types::{Fleet, FleetStatus, WebhookPolicy};
use crate::validation::certificates;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(15);

/// How long a connection is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(90);

/// How large an answer may be.
const ANSWER_SIZE: usize = 1 << 20;

/// Where a service listens that names no port.
const DEFAULT_PORT: i32 = 8_000;

/// Why a webhook gives no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// Neither a URL nor a service is named.
    #[error("name a url or a service with a name")]
    NoTarget,
    /// Both are.
    #[error("name a url or a service, not both")]
    TwoTargets,
    /// The URL is none.
    #[error("{0:?} is not a URL")]
    Url(String),
    /// The bundle holds no certificate.
    #[error("caBundle holds no certificate in PEM")]
    CaBundle,
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(String),
    /// The request failed.
    #[error("request to {url} failed: {reason}")]
    Request {
        /// Where it went.
        url: String,
        /// What happened.
        reason: String,
    },
    /// The answer did not come in time.
    #[error("no answer from {0} within 15 s")]
    Timeout(String),
    /// The answer was no success.
    #[error("{url} answered with status {status}: want 200")]
    Status {
        /// Where it came from.
        url: String,
        /// The status.
        status: u16,
    },
    /// The answer was not one.
    #[error("the answer is not a review: {0}")]
    Answer(String),
    /// The answer has no response object (issue 4555).
    #[error("the answer has no response: want {{\"response\": {{\"scale\": true, \"replicas\": 3}}}}")]
    NoResponse,
}

/// The clients of webhooks, one for each autoscaler, so that connections are used again and end with their autoscaler (issue 2278).
#[derive(Debug, Default)]
pub struct Hooks(Mutex<BTreeMap<String, Hook>>);

#[derive(Debug, Clone)]
struct Hook {
    ca_bundle: Option<String>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

#[derive(Serialize)]
struct Review<'a> {
    request: ReviewRequest<'a>,
    response: (),
}

#[derive(Serialize)]
struct ReviewRequest<'a> {
    uid: &'a str,
    name: &'a str,
    namespace: &'a str,
    status: &'a FleetStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<BTreeMap<&'a str, &'a str>>,
}

impl Hooks {
    /// Asks for a size, in the name of the autoscaler with this uid.
    ///
    /// # Errors
    ///
    /// See [`WebhookError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the request.
    pub async fn ask(
        &self,
        autoscaler: &str,
        policy: &WebhookPolicy,
        fleet: &Fleet,
        request_uid: &str,
        gates: FeatureGates,
    ) -> Result<Target, WebhookError> {
        let url = url(policy)?;
        let client = self.client(autoscaler, policy)?;
        let body = request_body(fleet, request_uid, gates);
        let failed = |reason: String| WebhookError::Request { url: url.clone(), reason };
        let uri: Uri = url.parse().map_err(|_| WebhookError::Url(url.clone()))?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(uri)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| failed(error.to_string()))?;
        let exchange = async {
            let answer = client.request(request).await.map_err(|error| failed(causes(&error)))?;
            let status = answer.status().as_u16();
            if status != 200 {
                return Err(WebhookError::Status { url: url.clone(), status });
            }
            let body = Limited::new(answer.into_body(), ANSWER_SIZE).collect().await;
            let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();
            answered(&body, fleet)
        };
        let answer = tokio::time::timeout(TIMEOUT, exchange).await;
        answer.map_err(|_| WebhookError::Timeout(url.clone()))?
    }

    /// Ends the connections of an autoscaler that is gone or has changed.
    pub fn forget(&self, autoscaler: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(autoscaler);
    }

    fn client(
        &self,
        autoscaler: &str,
        policy: &WebhookPolicy,
    ) -> Result<Client<HttpsConnector<HttpConnector>, Full<Bytes>>, WebhookError> {
        let mut hooks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hook) = hooks.get(autoscaler).filter(|hook| hook.ca_bundle == policy.ca_bundle) {
            return Ok(hook.client.clone());
        }
        let tls = tls(policy.ca_bundle.as_deref())?;
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(TIMEOUT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(1)
            .build(connector);
        let hook = Hook { ca_bundle: policy.ca_bundle.clone(), client: client.clone() };
        hooks.insert(autoscaler.to_owned(), hook);
        Ok(client)
    }
}

/// Trusts the authorities of the bundle, or else those of the system.
fn tls(ca_bundle: Option<&str>) -> Result<ClientConfig, WebhookError> {
    let mut roots = RootCertStore::empty();
    match ca_bundle.filter(|bundle| !bundle.is_empty()) {
        Some(bundle) => {
            for certificate in trusted(bundle)? {
                roots.add(certificate).map_err(|error| WebhookError::Tls(error.to_string()))?;
            }
        }
        None => {
            let native = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(native.certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| WebhookError::Tls(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn trusted(bundle: &str) -> Result<Vec<rustls::pki_types::CertificateDer<'static>>, WebhookError> {
    let pem = STANDARD.decode(bundle).map_err(|_| WebhookError::CaBundle)?;
    let certificates = certificates(&pem);
    if certificates.is_empty() { Err(WebhookError::CaBundle) } else { Ok(certificates) }
}

/// What may stand in a path as it is, as Go has it.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Where a webhook is asked.
///
/// A service is asked over HTTPS if there is a bundle of authorities, in the namespace `default` and at port 8000 if none is given.
///
/// # Errors
///
/// If the policy does not say where.
pub fn url(policy: &WebhookPolicy) -> Result<String, WebhookError> {
    let has_bundle = policy.ca_bundle.as_deref().is_some_and(|bundle| !bundle.is_empty());
    if has_bundle {
        trusted(policy.ca_bundle.as_deref().unwrap_or_default())?;
    }
    match (&policy.url, &policy.service) {
        (Some(_), Some(_)) => Err(WebhookError::TwoTargets),
        (Some(url), None) => absolute(url).ok_or_else(|| WebhookError::Url(url.clone())),
        (None, None) => Err(WebhookError::NoTarget),
        (None, Some(service)) => {
            if service.name.is_empty() {
                return Err(WebhookError::NoTarget);
            }
            let scheme = if has_bundle { "https" } else { "http" };
            let namespace = if service.namespace.is_empty() { "default" } else { &service.namespace };
            let port = service.port.unwrap_or(DEFAULT_PORT);
            let path = service.path.as_deref().unwrap_or_default();
            let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
            let path = utf8_percent_encode(path, PATH);
            Ok(format!("{scheme}://{}.{namespace}.svc:{port}{slash}{path}", service.name))
        }
    }
}

/// A URL as a request has it: with a scheme, or a path from the root. A fragment is taken for a part of the path.
fn absolute(text: &str) -> Option<String> {
    let text = text.replace('#', "%23");
    if !well_formed(&text) {
        return None;
    }
    if text.starts_with('/') {
        return Some(text);
    }
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then(|| format!("{}://{rest}", scheme.to_ascii_lowercase()))
}

/// Whether Go would read a text as a URL; a relative one is one, too.
pub(crate) fn webhook_url_parses(text: &str) -> bool {
    match text.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            !scheme.is_empty()
                && !rest.split('/').next().is_some_and(|host| host.contains(' '))
                && escapes_fit(text)
        }
        _ => escapes_fit(text) && !text.bytes().any(|byte| byte.is_ascii_control()),
    }
}

fn well_formed(text: &str) -> bool {
    escapes_fit(text) && !text.bytes().any(|byte| byte == b' ' || byte.is_ascii_control())
}

/// Whether each `%` is followed by two hexadecimal digits.
fn escapes_fit(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes();
        digits.len() >= 2 && digits[..2].iter().all(u8::is_ascii_hexdigit)
    })
}

/// What is sent. Labels and annotations of the fleet are in it if that feature is on.
pub fn request_body(fleet: &Fleet, uid: &str, gates: FeatureGates) -> String {
    let meta = &fleet.metadata;
    let tells = gates.has(Gate::FleetAutoscaleRequestMetaData);
    let request = ReviewRequest {
        uid,
        name: fleet.name(),
        namespace: fleet.namespace(),
        status: &fleet.status,
        labels: (tells && !meta.labels.is_empty()).then_some(&*meta.labels),
        annotations: (tells && !meta.annotations.is_empty()).then(|| meta.annotations.iter().collect()),
    };
    // Maps by strings can always be written.
    let body = serde_json::to_string(&Review { request, response: () }).unwrap_or_default();
    // Go escapes what could end a script.
    body.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// What an answer asks for: its `replicas`, or as many as there are if it does not scale.
///
/// # Errors
///
/// If it is no answer, or has no response.
pub fn answered(body: &[u8], fleet: &Fleet) -> Result<Target, WebhookError> {
    let answer: Option<Map<String, Value>> =
        serde_json::from_slice(body).map_err(|error| WebhookError::Answer(error.to_string()))?;
    let Some(answer) = answer else { return Err(WebhookError::NoResponse) };
    let wrong = |field: &str| WebhookError::Answer(format!("{field} is of a wrong type"));
    let object = |name: &'static str| match field(&answer, name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(wrong(name)),
    };
    let text = |object: &Map<String, Value>, name: &str| match field(object, name) {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(_) => Err(wrong(name)),
    };
    if let Some(request) = object("request")? {
        for name in ["uid", "name", "namespace"] {
            text(request, name)?;
        }
    }
    let response = object("response")?.ok_or(WebhookError::NoResponse)?;
    text(response, "uid")?;
    let scales = match field(response, "scale") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(scales)) => *scales,
        Some(_) => return Err(wrong("scale")),
    };
    let replicas = match field(response, "replicas") {
        None | Some(Value::Null) => 0,
        Some(number) => {
            let number = number.as_i64().and_then(|number| i32::try_from(number).ok());
            number.ok_or_else(|| wrong("replicas"))?
        }
    };
    let replicas = if scales { replicas } else { fleet.status.replicas };
    Ok(Target { replicas, limited: false })
}

/// Go finds fields whatever their case is.
fn field<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object
        .get(name)
        .or_else(|| object.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value))
}

fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
