//! The configuration that every pod is given.

use std::fs;
use std::net::IpAddr;

use http::Uri;

use super::credentials::{Bearer, Credentials};
use super::environment::Environment;
use super::error::{ConfigError, Entry, EntryKind};
use super::resolve::Overrides;
use super::tls::{Pem, TlsOptions, holds_authority};
use super::{Config, DEFAULT_NAMESPACE};

/// The pod's own configuration. As in client-go, of the overrides only namespace, server, token and `insecure` matter.
pub(super) fn resolve(environment: &Environment, overrides: &Overrides) -> Result<Config, ConfigError> {
    let required = |value: &Option<String>, variable| {
        let value = value.as_deref().filter(|value| !value.is_empty());
        value.map(str::to_owned).ok_or(ConfigError::NotInCluster { variable })
    };
    let host = required(&environment.service_host, "KUBERNETES_SERVICE_HOST")?;
    let port = required(&environment.service_port, "KUBERNETES_SERVICE_PORT")?;

    let cluster = Entry::new(EntryKind::Cluster, "in-cluster", None);
    let user = Entry::new(EntryKind::User, "service account", None);
    let server = match overrides.text(&overrides.server) {
        Some(server) => super::resolve::server(server, &cluster)?,
        None => service(&host, &port)
            .ok_or_else(|| cluster.invalid("KUBERNETES_SERVICE_HOST and _PORT do not make an address"))?,
    };
    let bearer = match overrides.token() {
        Some(token) => Bearer::new(token.clone(), None),
        None => {
            let path = environment.service_account.join("token");
            let token =
                fs::read_to_string(&path).map_err(|source| user.unreadable("the token", &path, source))?;
            Bearer::new(token.into(), Some(path))
        }
    };
    let mut tls = TlsOptions { insecure_skip_tls_verify: overrides.insecure, ..TlsOptions::default() };
    if !overrides.insecure {
        tls.certificate_authority = authority(environment);
    }

    let mut config = Config::new(server)?;
    config.cluster = cluster;
    config.user = user;
    config.default_namespace =
        overrides.text(&overrides.namespace).map_or_else(|| namespace(environment), str::to_owned);
    Ok(config.with_tls(tls).with_credentials(Credentials { bearer: Some(bearer), ..Credentials::default() }))
}

fn service(host: &str, port: &str) -> Option<Uri> {
    match host.parse() {
        Ok(IpAddr::V6(_)) => format!("https://[{host}]:{port}/").parse().ok(),
        _ => format!("https://{host}:{port}/").parse().ok(),
    }
}

/// The authority of the mount; without a usable one, that of the system, as in client-go.
fn authority(environment: &Environment) -> Option<Pem> {
    let path = environment.service_account.join("ca.crt");
    match fs::read(&path) {
        Ok(pem) if holds_authority(&pem) => return Some(Pem::File(path)),
        Ok(_) => {
            tracing::warn!(path = %path.display(), "no usable certificate; the system's authorities are used");
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "no certificate authority; the system's are used");
        }
    }
    None
}

fn namespace(environment: &Environment) -> String {
    if let Some(namespace) = environment.pod_namespace.as_ref().filter(|namespace| !namespace.is_empty()) {
        return namespace.clone();
    }
    match fs::read_to_string(environment.service_account.join("namespace")) {
        Ok(text) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => DEFAULT_NAMESPACE.to_owned(),
    }
}
