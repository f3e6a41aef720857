//! Kubeconfigs against what client-go made of them.

#![allow(clippy::unwrap_used)] // clippy does not know that helpers of tests are tests

mod differences;

use std::fs;
use std::path::{Path, PathBuf};

use differences::DIFFERENCES;
use lariat_client::config::{Config, ConfigError, Overrides, Pem};
use lariat_fixtures::vectors::{self, Case};
use serde_json::{Value, json};

#[test]
fn vectors_kubeconfig() {
    vectors::run("client-go/kubeconfig", DIFFERENCES, |case| {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let config = load(case, folder.path());
        let mut expected = case.clone();
        expected.want = comparable(&case.want);
        expected.expect(config.map(|config| answer(&config, folder.path())))
    });
}

fn load(case: &Case, folder: &Path) -> Result<Config, ConfigError> {
    for (name, text) in case.input["files"].as_object().into_iter().flatten() {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.as_str().unwrap().replace("<dir>", folder.to_str().unwrap())).unwrap();
    }
    let flag = |name: &str| case.input["overrides"][name].as_str().map(str::to_owned);
    let overrides = Overrides {
        context: flag("context"),
        namespace: flag("namespace"),
        server: flag("server"),
        token: flag("token").map(Into::into),
        cluster: flag("cluster"),
        user: flag("user"),
        insecure: case.input["overrides"]["insecureSkipTLSVerify"].as_bool().unwrap_or(false),
    };
    match case.input["explicitPath"].as_str().filter(|path| !path.is_empty()) {
        Some(path) => Config::from_kubeconfig_file(folder.join(path), &overrides),
        None => {
            let order = case.input["order"].as_array().into_iter().flatten();
            let files: Vec<PathBuf> = order.map(|name| folder.join(name.as_str().unwrap())).collect();
            Config::from_kubeconfig_files(&files, &overrides)
        }
    }
}

/// What was recorded, without `namespaceOverridden` and `apiPath`, which follow from the input alone, with null for an
/// empty list of arguments, and with the host as a URL in one form without query.
fn comparable(want: &Value) -> Value {
    let mut want = want.clone();
    let Some(fields) = want.as_object_mut() else { return want };
    fields.remove("namespaceOverridden");
    fields.remove("apiPath");
    // No recorded case has a provider, so its form is not known; that there is one shows in `authKinds`.
    fields.remove("authProvider");
    if let Some(args) = fields.get_mut("exec").and_then(|exec| exec.get_mut("args"))
        && args.is_null()
    {
        *args = json!([]);
    }
    if let Some(impersonate) = fields.get_mut("impersonate").and_then(Value::as_object_mut) {
        impersonate.retain(|_, value| !(value.is_null() || *value == json!("") || *value == json!([])));
    }
    if let Some(kinds) = fields.get_mut("authKinds").and_then(Value::as_array_mut) {
        kinds.sort_by_key(Value::to_string);
    }
    let host = fields["host"].as_str().unwrap_or_default();
    let host = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let host = host.split(['?', '#']).next().unwrap_or_default();
    fields["host"] = json!(host.parse::<http::Uri>().unwrap().to_string());
    want
}

fn answer(config: &Config, folder: &Path) -> Value {
    let place = |path: &Path| path.to_str().unwrap().replace(folder.to_str().unwrap(), "<dir>");
    let pem = |pem: Option<&Pem>| match pem {
        None => (0, String::new()),
        Some(Pem::Data(data)) => (data.expose().len(), String::new()),
        Some(Pem::File(path)) => (0, place(path)),
    };
    let credentials = config.credentials();
    let basic = credentials.basic();
    let ca = pem(config.tls().certificate_authority.as_ref());
    let certificate = pem(credentials.client_certificate().map(|pair| &pair.certificate));
    let key = pem(credentials.client_certificate().map(|pair| &pair.key));

    let mut answer = json!({
        "authKinds": kinds(config),
        "bearerToken": credentials.bearer_token().map_or("", |token| token.expose()),
        "bearerTokenFile": credentials.bearer_token_file().map_or_else(String::new, place),
        "disableCompression": config.disable_compression(),
        "host": config.server().to_string(),
        "namespace": config.default_namespace(),
        "username": basic.map_or("", |basic| &basic.username),
        "password": basic.map_or("", |basic| basic.password.expose()),
        "tls": {
            "caDataLen": ca.0, "caFile": ca.1,
            "certDataLen": certificate.0, "certFile": certificate.1,
            "keyDataLen": key.0, "keyFile": key.1,
            "insecure": config.tls().insecure_skip_tls_verify,
            "serverName": config.tls().server_name.clone().unwrap_or_default(),
        },
    });
    if let Some(proxy) = config.proxy_url() {
        answer["proxy"] = json!(proxy.expose());
    }
    if let Some(exec) = credentials.exec() {
        let env: Vec<_> = exec.env.iter().map(|(name, value)| format!("{name}={}", value.expose())).collect();
        answer["exec"] = json!({
            "apiVersion": exec.api_version,
            "args": exec.args,
            "command": exec.command.replace(folder.to_str().unwrap(), "<dir>"),
            "env": env,
            "interactiveMode": exec.interactive_mode,
            "provideClusterInfo": exec.provide_cluster_info,
        });
    }
    if let Some(whom) = config.impersonation() {
        let extra: Value = if whom.extra.is_empty() { Value::Null } else { json!(whom.extra) };
        let mut fields = json!({"user": whom.user, "uid": whom.uid, "groups": whom.groups, "extra": extra});
        let fields_map = fields.as_object_mut().unwrap();
        fields_map.retain(|_, value| !(value.is_null() || *value == json!("") || *value == json!([])));
        answer["impersonate"] = fields;
    }
    answer
}

fn kinds(config: &Config) -> Vec<&'static str> {
    let credentials = config.credentials();
    let mut kinds = Vec::new();
    let mut add = |present: bool, kind| {
        if present {
            kinds.push(kind);
        }
    };
    add(credentials.auth_provider().is_some(), "authProvider");
    add(credentials.basic().is_some(), "basic");
    add(credentials.client_certificate().is_some(), "clientCertificate");
    add(credentials.exec().is_some(), "exec");
    add(credentials.bearer_token().is_some() || credentials.bearer_token_file().is_some(), "token");
    kinds
}
