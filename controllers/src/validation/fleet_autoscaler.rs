use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use lariat::api::IntOrString;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::meta::name;
use super::{Errors, FieldError, FieldErrorKind};
use crate::fleetautoscalers::webhook_url_parses;
use crate::gates::{FeatureGates, Gate};
use crate::schedule::{Cron, parse_duration, time, time_zone};
use crate::types::{
    BufferPolicy, CapacityPolicy, ChainEntry, FleetAutoscaler, FleetAutoscalerPolicy, SchedulePolicy,
    WasmPolicy, WebhookPolicy,
};

/// What is wrong with an autoscaler at this time, defaults applied.
pub fn fleet_autoscaler(
    autoscaler: &FleetAutoscaler,
    gates: FeatureGates,
    now: Timestamp,
) -> Vec<FieldError> {
    let mut check = Check { errors: Errors::default(), gates, now };
    name(&mut check.errors, &autoscaler.metadata);
    check.policy(&autoscaler.spec.policy, "spec.policy");
    if let Some(sync) = &autoscaler.spec.sync
        && sync.fixed_interval.seconds <= 0
    {
        check.errors.invalid("spec.sync.fixedInterval.seconds", "must be more than 0");
    }
    check.errors.0
}

/// Whether a bundle in PEM holds a certificate.
pub(crate) fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    let mut store = RootCertStore::empty();
    CertificateDer::pem_slice_iter(pem)
        .filter_map(Result::ok)
        .filter(|certificate| store.add(certificate.clone()).is_ok())
        .collect()
}

struct Check {
    errors: Errors,
    gates: FeatureGates,
    now: Timestamp,
}

impl Check {
    fn policy(&mut self, policy: &FleetAutoscalerPolicy, path: &str) {
        match policy.kind.as_str() {
            "Buffer" => match &policy.buffer {
                Some(buffer) => self.buffer(buffer, &format!("{path}.buffer")),
                None => self.missing(path, "buffer"),
            },
            "Webhook" => match &policy.webhook {
                Some(webhook) => self.webhook(webhook, &format!("{path}.webhook")),
                None => self.missing(path, "webhook"),
            },
            "Counter" => match &policy.counter {
                Some(counter) => self.capacity(counter, &format!("{path}.counter")),
                None => self.missing(path, "counter"),
            },
            "List" => match &policy.list {
                Some(list) => self.capacity(list, &format!("{path}.list")),
                None => self.missing(path, "list"),
            },
            "Schedule" => match &policy.schedule {
                Some(schedule) => self.schedule(schedule, &format!("{path}.schedule")),
                None => self.missing(path, "schedule"),
            },
            "Chain" => self.chain(&policy.chain, path),
            "Wasm" => match &policy.wasm {
                Some(wasm) => self.wasm(wasm, &format!("{path}.wasm")),
                None => self.missing(path, "wasm"),
            },
            _ => {}
        }
    }

    fn missing(&mut self, path: &str, field: &str) {
        self.errors.required(format!("{path}.{field}"), "the policy of this type needs it");
    }

    fn buffer(&mut self, buffer: &BufferPolicy, path: &str) {
        let size = &buffer.buffer_size;
        let (least, most) = (i64::from(buffer.min_replicas), i64::from(buffer.max_replicas));
        if least > most {
            self.errors.invalid(format!("{path}.minReplicas"), "must be at most maxReplicas");
        }
        match size {
            IntOrString::Int(number) => {
                if *number <= 0 {
                    self.errors.invalid(format!("{path}.bufferSize"), "must be more than 0");
                }
                if most < *number {
                    self.errors.invalid(format!("{path}.maxReplicas"), "must be at least bufferSize");
                }
                if least != 0 && least < *number {
                    self.errors.invalid(format!("{path}.minReplicas"), "must be 0, or at least bufferSize");
                }
            }
            IntOrString::String(_) => {
                if !is_percentage(size) {
                    self.errors.invalid(format!("{path}.bufferSize"), "must be 1% to 99%");
                }
                if least < 1 {
                    let detail = "must be at least 1 with a percentage";
                    self.errors.invalid(format!("{path}.minReplicas"), detail);
                }
            }
        }
    }

    fn capacity(&mut self, policy: &CapacityPolicy, path: &str) {
        if !self.gates.has(Gate::CountsAndLists) {
            return self.errors.forbidden(path, "needs the feature gate CountsAndLists");
        }
        let size = &policy.buffer_size;
        let (least, most) = (policy.min_capacity, policy.max_capacity);
        if least > most {
            self.errors.invalid(format!("{path}.minCapacity"), "must be at most maxCapacity");
        }
        match size {
            IntOrString::Int(number) => {
                if *number <= 0 {
                    self.errors.invalid(format!("{path}.bufferSize"), "must be more than 0");
                }
                if most < *number {
                    self.errors.invalid(format!("{path}.maxCapacity"), "must be at least bufferSize");
                }
                if least != 0 && least < *number {
                    self.errors.invalid(format!("{path}.minCapacity"), "must be 0, or at least bufferSize");
                }
            }
            IntOrString::String(_) => {
                if !is_percentage(size) {
                    self.errors.invalid(format!("{path}.bufferSize"), "must be 1% to 99%");
                }
                if least < 1 {
                    let detail = "must be at least 1 with a percentage";
                    self.errors.invalid(format!("{path}.minCapacity"), detail);
                }
            }
        }
    }

    fn webhook(&mut self, webhook: &WebhookPolicy, path: &str) {
        if webhook.service.is_none() && webhook.url.is_none() {
            self.errors.required(path, "name a service or a url");
        }
        if webhook.service.is_some() && webhook.url.is_some() {
            self.errors.add(
                FieldErrorKind::Duplicate,
                format!("{path}.url"),
                "name a service or a url, not both",
            );
        }
        if let Some(bundle) = &webhook.ca_bundle {
            let pem = STANDARD.decode(bundle).unwrap_or_default();
            if certificates(&pem).is_empty() {
                self.errors.invalid(format!("{path}.caBundle"), "holds no certificate in PEM");
            }
        }
        if let Some(url) = &webhook.url
            && !webhook_url_parses(url)
        {
            self.errors.invalid(format!("{path}.url"), "is not a URL");
        }
    }

    fn schedule(&mut self, schedule: &SchedulePolicy, path: &str) {
        if !self.gates.has(Gate::ScheduledAutoscaler) {
            return self.errors.forbidden(path, "needs the feature gate ScheduledAutoscaler");
        }
        let start = time("start", schedule.between.start.as_deref());
        let end = time("end", schedule.between.end.as_deref());
        for invalid in [start.as_ref().err(), end.as_ref().err()].into_iter().flatten() {
            self.errors.invalid(format!("{path}.between"), invalid.to_string());
        }
        if let (Ok(start), Ok(Some(end))) = (&start, &end) {
            if *end <= self.now {
                self.errors.invalid(format!("{path}.between.end"), "must be in the future");
            } else if start.is_some_and(|start| start > *end) {
                self.errors.invalid(format!("{path}.between"), "start must be before end");
            }
        }
        let period = &schedule.active_period;
        if !period.timezone.is_empty()
            && let Err(error) = time_zone(&period.timezone)
        {
            self.errors.invalid(format!("{path}.activePeriod.timezone"), error.to_string());
        }
        if !period.start_cron.is_empty() {
            let field = format!("{path}.activePeriod.startCron");
            if period.start_cron.contains("TZ") {
                self.errors.invalid(&*field, "must not name a time zone: use timezone");
            }
            if let Err(error) = period.start_cron.parse::<Cron>() {
                self.errors.invalid(field, error.to_string());
            }
        }
        if !period.duration.is_empty()
            && let Err(error) = parse_duration(&period.duration)
        {
            self.errors.invalid(format!("{path}.activePeriod.duration"), error.to_string());
        }
    }

    fn chain(&mut self, chain: &[ChainEntry], path: &str) {
        if !self.gates.has(Gate::ScheduledAutoscaler) {
            return self
                .errors
                .forbidden(format!("{path}.chain"), "needs the feature gate ScheduledAutoscaler");
        }
        for (index, entry) in chain.iter().enumerate() {
            // An entry without an id goes by its place.
            let is_twice = chain[..index].iter().any(|other| !entry.id.is_empty() && other.id == entry.id);
            if is_twice {
                self.errors.invalid(format!("{path}.chain"), format!("id {:?} is there twice", entry.id));
            }
            let policy = &entry.policy;
            let has_settings = policy.buffer.is_some()
                || policy.webhook.is_some()
                || policy.counter.is_some()
                || policy.list.is_some()
                || policy.schedule.is_some()
                || policy.wasm.is_some()
                || !policy.chain.is_empty();
            if policy.kind.is_empty() || !has_settings {
                self.errors.required(format!("{path}.chain[{index}]"), "needs a policy");
            }
            self.policy(policy, &format!("{path}.chain[{index}].policy"));
        }
    }

    fn wasm(&mut self, wasm: &WasmPolicy, path: &str) {
        if !self.gates.has(Gate::WasmAutoscaler) {
            return self.errors.forbidden(path, "needs the feature gate WasmAutoscaler");
        }
        match &wasm.from.url {
            None => self.errors.required(format!("{path}.from.url"), "needs a place to fetch from"),
            Some(url) => self.webhook(url, &format!("{path}.from.url")),
        }
        let is_hash = wasm.hash.len() == 64 && wasm.hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !wasm.hash.is_empty() && !is_hash {
            self.errors.invalid(format!("{path}.hash"), "must be 64 hexadecimal digits");
        }
    }
}

/// 1 % to 99 %, written with its sign.
fn is_percentage(size: &IntOrString) -> bool {
    matches!(size.scaled(100, true), Ok(1..=99))
}
