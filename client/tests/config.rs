//! Where a configuration comes from, what wins, what never shows, and what is refused.

#![allow(clippy::unwrap_used)] // clippy does not know that helpers of tests are tests

#[path = "config/tls.rs"]
mod tls;

use std::env;
use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderMap;
use lariat_client::config::{Config, ConfigError, Credentials, Environment, Impersonation, Overrides};
use tempfile::TempDir;
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber, span};

/// A folder with files in it.
struct Folder(TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn load(&self, name: &str) -> Result<Config, ConfigError> {
        Config::from_kubeconfig_file(self.path(name), &Overrides::default())
    }
}

/// A kubeconfig with one cluster, one user and one context.
fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "current-context: dev\n\
         clusters: [{{name: k, cluster: {{{cluster}}}}}]\n\
         users: [{{name: bob, user: {{{user}}}}}]\n\
         contexts: [{{name: dev, context: {{cluster: k, user: bob}}}}]\n"
    )
}

const HTTPS: &str = "server: 'https://a.example:6443'";

fn error_of(cluster: &str, user: &str) -> String {
    let folder = Folder::with(&[("config", &kubeconfig(cluster, user))]);
    let error = folder.load("config").and_then(|config| config.tls_client_config()).unwrap_err();
    error.to_string().replace(folder.0.path().to_str().unwrap(), "<dir>")
}

async fn token(config: &Config) -> String {
    config.authorization().await.unwrap().unwrap().to_str().unwrap().to_owned()
}

// === where it comes from ===

#[test]
fn the_first_file_wins_whole_entries_and_missing_files_are_skipped() {
    let folder = Folder::with(&[
        ("one", &kubeconfig("server: 'https://one'", "username: u")),
        ("two", &kubeconfig("server: 'https://two', tls-server-name: sn", "username: u, password: p")),
    ]);
    let environment = Environment {
        kubeconfig: Some(
            env::join_paths([folder.path("absent"), folder.path("one"), folder.path("two")]).unwrap(),
        ),
        home: Some(folder.path("home")),
        ..Environment::default()
    };
    let config = Config::infer_from(&environment, &Overrides::default()).unwrap();
    assert_eq!(config.server(), "https://one/");
    assert_eq!(config.tls().server_name, None, "an entry is not put together from two files");
    assert_eq!(config.credentials().basic().unwrap().password.expose(), "");
}

#[test]
fn the_home_folder_is_used_only_without_kubeconfig() {
    let folder = Folder::with(&[(".kube/config", &kubeconfig("server: 'https://home'", ""))]);
    let mut environment =
        Environment { home: Some(folder.path("")), kubeconfig: Some("".into()), ..Environment::default() };
    let config = Config::infer_from(&environment, &Overrides::default()).unwrap();
    assert_eq!(config.server(), "https://home/");

    environment.kubeconfig = Some("/no/such/file".into());
    let error = Config::infer_from(&environment, &Overrides::default()).unwrap_err();
    assert!(matches!(error, ConfigError::Nothing { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("/no/such/file") && text.contains("KUBERNETES_SERVICE_HOST"), "{text}");
}

#[test]
fn a_broken_kubeconfig_is_not_passed_over_for_the_service_account() {
    let pod = pod("10.0.0.1");
    pod.write("config", "users: 1");
    let environment = Environment { kubeconfig: Some(pod.path("config").into()), ..environment(&pod) };
    let error = Config::infer_from(&environment, &Overrides::default()).unwrap_err();
    assert!(matches!(error, ConfigError::Shape { .. }), "{error}");

    pod.write("config", "");
    let config = Config::infer_from(&environment, &Overrides::default()).unwrap();
    assert_eq!(config.cluster().name(), "in-cluster");
}

#[test]
fn relative_paths_start_at_the_file_that_holds_them() {
    let folder = Folder::with(&[
        (
            "a/config",
            &kubeconfig(&format!("{HTTPS}, certificate-authority: ../pki/./ca.crt"), "tokenFile: t"),
        ),
        ("a/t", "tok\n"),
        ("pki/ca.crt", "CA"),
    ]);
    let config = folder.load("a/config").unwrap();
    let ca = format!("{:?}", config.tls().certificate_authority.as_ref().unwrap());
    assert_eq!(ca, format!("File({:?})", folder.path("pki/ca.crt")));
    assert_eq!(config.credentials().bearer_token_file(), Some(folder.path("a/t").as_path()));
}

#[test]
fn overrides_win_and_empty_ones_do_not() {
    let folder =
        Folder::with(&[("config", &kubeconfig(&format!("{HTTPS}, tls-server-name: sn"), "token: t"))]);
    let overrides = Overrides {
        context: Some(String::new()),
        namespace: Some("games".into()),
        server: Some("https://b.example".into()),
        token: Some("flag".into()),
        insecure: true,
        ..Overrides::default()
    };
    let config = Config::from_kubeconfig_file(folder.path("config"), &overrides).unwrap();
    assert_eq!(config.server(), "https://b.example/");
    assert_eq!(config.default_namespace(), "games");
    assert_eq!(config.credentials().bearer_token().unwrap().expose(), "flag");
    assert!(config.tls().insecure_skip_tls_verify);
    assert_eq!(config.tls().server_name, None, "the name belongs to the server that was overridden");
}

#[test]
fn the_insecure_override_drops_the_authority_in_either_form() {
    for authority in ["certificate-authority: ca.crt", "certificate-authority-data: Q0E="] {
        let text = kubeconfig(&format!("{HTTPS}, {authority}"), "token: t");
        let folder = Folder::with(&[("config", &text), ("ca.crt", "CA")]);
        let overrides = Overrides { insecure: true, ..Overrides::default() };
        let config = Config::from_kubeconfig_file(folder.path("config"), &overrides).unwrap();
        config.tls_client_config().unwrap();
    }
}

#[test]
fn a_field_that_comes_twice_has_its_last_value() {
    let folder = Folder::with(&[("config", &kubeconfig(HTTPS, "username: a, username: b"))]);
    assert_eq!(folder.load("config").unwrap().credentials().basic().unwrap().username, "b");
}

// === in a pod ===

fn pod(host: &str) -> Folder {
    let ca = tls::Authority::new();
    Folder::with(&[
        ("token", "pod-token\n"),
        ("ca.crt", &ca.pem()),
        ("namespace", " games\n"),
        ("host", host),
    ])
}

fn environment(pod: &Folder) -> Environment {
    Environment {
        service_host: Some(fs::read_to_string(pod.path("host")).unwrap()),
        service_port: Some("443".into()),
        service_account: pod.path(""),
        ..Environment::default()
    }
}

#[tokio::test]
async fn in_a_pod_everything_comes_from_the_mount() {
    let pod = pod("10.0.0.1");
    let config = Config::in_cluster_from(&environment(&pod)).unwrap();
    assert_eq!(config.server(), "https://10.0.0.1:443/");
    assert_eq!(config.default_namespace(), "games");
    assert_eq!(token(&config).await, "Bearer pod-token");
    config.tls_client_config().unwrap();

    let named = Environment { pod_namespace: Some("other".into()), ..environment(&pod) };
    assert_eq!(Config::in_cluster_from(&named).unwrap().default_namespace(), "other");
}

#[test]
fn in_a_pod_an_ipv6_address_is_bracketed() {
    let config = Config::in_cluster_from(&environment(&pod("fd00::1"))).unwrap();
    assert_eq!(config.server(), "https://[fd00::1]:443/");
    assert_eq!(config.server_name().unwrap().to_str(), "fd00::1");
}

#[test]
fn in_a_pod_only_the_token_must_be_there() {
    let pod = pod("10.0.0.1");
    fs::remove_file(pod.path("namespace")).unwrap();
    fs::remove_file(pod.path("ca.crt")).unwrap();
    let config = Config::in_cluster_from(&environment(&pod)).unwrap();
    assert_eq!(config.default_namespace(), "default");
    assert!(config.tls().certificate_authority.is_none());

    pod.write("ca.crt", "not PEM");
    assert!(Config::in_cluster_from(&environment(&pod)).unwrap().tls().certificate_authority.is_none());

    fs::remove_file(pod.path("token")).unwrap();
    let error = Config::in_cluster_from(&environment(&pod)).unwrap_err();
    assert!(matches!(error, ConfigError::Read { .. }), "{error}");
    assert!(error.to_string().contains(pod.path("token").to_str().unwrap()), "{error}");
}

#[test]
fn outside_of_a_pod_the_missing_variable_is_named() {
    let half = Environment { service_host: Some("10.0.0.1".into()), ..Environment::default() };
    let error = Config::in_cluster_from(&half).unwrap_err();
    assert!(matches!(error, ConfigError::NotInCluster { variable: "KUBERNETES_SERVICE_PORT" }), "{error}");
}

// === the token file ===

fn with_token_file(path: &Path) -> Config {
    let server = "https://a.example".parse().unwrap();
    Config::new(server).unwrap().with_credentials(Credentials::token_file(path))
}

#[tokio::test(start_paused = true)]
async fn a_rotated_token_is_seen_within_a_minute_and_not_before() {
    let folder = Folder::with(&[("t", "one\n")]);
    let config = with_token_file(&folder.path("t"));
    assert_eq!(token(&config).await, "Bearer one");

    folder.write("t", "two");
    tokio::time::advance(Duration::from_secs(49)).await;
    assert_eq!(token(&config).await, "Bearer one", "the file is not read for every request");
    assert_eq!(token(&config.clone()).await, "Bearer one", "clones share what was read");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(token(&config).await, "Bearer two");
}

#[tokio::test(start_paused = true)]
async fn a_lost_or_empty_token_file_leaves_the_old_token() {
    let folder = Folder::with(&[("t", "one")]);
    let config = with_token_file(&folder.path("t"));
    assert_eq!(token(&config).await, "Bearer one");

    fs::remove_file(folder.path("t")).unwrap();
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(token(&config).await, "Bearer one");
    folder.write("t", " \n");
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(token(&config).await, "Bearer one");

    folder.write("t", "two");
    assert_eq!(token(&config).await, "Bearer one", "a failed read is not repeated for every request");
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(token(&config).await, "Bearer two");
}

#[tokio::test(start_paused = true)]
async fn without_an_earlier_token_a_bad_token_file_is_an_error_until_it_is_good() {
    let folder = Folder::with(&[("t", "\n")]);
    let config = with_token_file(&folder.path("t"));
    let error = config.authorization().await.unwrap_err();
    assert!(matches!(error, ConfigError::EmptyTokenFile { .. }), "{error}");
    fs::remove_file(folder.path("t")).unwrap();
    let error = config.authorization().await.unwrap_err();
    assert!(matches!(error, ConfigError::Read { .. }), "{error}");
    folder.write("t", "se\u{1}cret");
    let error = config.authorization().await.unwrap_err();
    assert!(!error.to_string().contains("cret"), "{error}");

    folder.write("t", "good");
    assert_eq!(token(&config).await, "Bearer good");
}

#[tokio::test(start_paused = true)]
async fn the_inline_token_serves_until_the_file_can_be_read() {
    let folder = Folder::with(&[("config", &kubeconfig(HTTPS, "token: inline, tokenFile: t"))]);
    let config = folder.load("config").unwrap();
    assert_eq!(token(&config).await, "Bearer inline");
    folder.write("t", "filed");
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(token(&config).await, "Bearer filed");
}

// === headers ===

#[tokio::test]
async fn impersonation_goes_along_with_the_credentials() {
    let whom = Impersonation {
        user: "jane".into(),
        uid: "7".into(),
        groups: vec!["a".into(), "b".into()],
        extra: [("x.io/Scope %".to_owned(), vec!["v".to_owned()])].into(),
    };
    let server = "https://a.example".parse().unwrap();
    let config =
        Config::new(server).unwrap().with_credentials(Credentials::token("t")).with_impersonation(whom);
    let mut headers = HeaderMap::new();
    config.authorize(&mut headers).await.unwrap();
    assert_eq!(headers["authorization"], "Bearer t");
    assert_eq!(headers["impersonate-user"], "jane");
    assert_eq!(headers["impersonate-uid"], "7");
    assert_eq!(headers.get_all("impersonate-group").iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(headers["impersonate-extra-x.io%2fscope%20%25"], "v");
}

#[tokio::test]
async fn nothing_secret_is_sent_without_tls_and_somebody_is_told() {
    let folder = Folder::with(&[(
        "config",
        &kubeconfig("server: 'http://a.example:8080', insecure-skip-tls-verify: true", "token: s3cr3t"),
    )]);
    let log = Log::default();
    let config = tracing::subscriber::with_default(log.clone(), || folder.load("config").unwrap());
    assert!(config.authorization().await.unwrap().is_none());
    assert!(config.credentials().is_empty());
    let log = log.0.lock().unwrap().clone();
    assert!(log.contains("credentials are not sent") && log.contains("user `bob`"), "{log}");
    assert!(log.contains("TLS settings are not used") && !log.contains("s3cr3t"), "{log}");
}

// === what never shows ===

#[test]
fn no_secret_shows_in_debug() {
    let user = "token: s3cr3t, client-certificate-data: czNjcjN0, client-key-data: czNjcjN0, \
                exec: {apiVersion: v, command: c, interactiveMode: Never, args: [s3cr3t], \
                env: [{name: NAME, value: s3cr3t}]}";
    let cluster = format!("{HTTPS}, proxy-url: 'http://me:s3cr3t@proxy'");
    let provider = "auth-provider: {name: oidc, config: {id-token: s3cr3t}}, password: s3cr3t";
    for user in [user, provider] {
        let folder = Folder::with(&[("config", &kubeconfig(&cluster, user))]);
        let config = folder.load("config").unwrap();
        let shown = format!("{config:?} {config:#?}");
        assert!(!shown.contains("s3cr3t") && !shown.contains("czNjcjN0"), "{shown}");
        assert!(!shown.contains(&format!("{:?}", b"s3cr3t")), "{shown}");
    }
    let overrides = Overrides { token: Some("s3cr3t".into()), ..Overrides::default() };
    assert!(!format!("{overrides:?}").contains("s3cr3t"));
}

#[test]
fn no_secret_shows_in_errors() {
    for text in [
        "users: [{name: u, user: s3cr3t}]",
        "users: s3cr3t",
        "s3cr3t",
        "users: [{name: u, user: {token: 5333}}]",
        "users: [{name: u, user: {token: \"s3cr3t}}]",
        "users: [{name: u, user: {client-key-data: s3cr3t!}}]",
        "users: [{name: u, user: {token: *s3cr3t}}]",
        "kind: s3cr3t",
        &kubeconfig("server: 'https://me:s3cr3t@host'", ""),
        &kubeconfig(&format!("{HTTPS}, proxy-url: 'ftp://me:s3cr3t@host'"), ""),
    ] {
        let folder = Folder::with(&[("config", text)]);
        let error = folder.load("config").unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("s3cr3t") && !shown.contains("5333"), "{text}: {shown}");
        assert!(shown.contains("/config"), "{text}: {shown}");
    }
}

// === what errors say ===

#[test]
fn errors_name_the_file_and_the_entry() {
    let check = |cluster: &str, user: &str, parts: &[&str]| {
        let error = error_of(cluster, user);
        for part in parts {
            assert!(error.contains(part), "{error}\n    lacks {part}");
        }
    };
    let bob = "user `bob` in <dir>/config";
    let k = "cluster `k` in <dir>/config";
    check(HTTPS, "token: y", &["<dir>/config", "users[bob].user.token", "true or false where text"]);
    check("server: ''", "", &[k, "server is missing"]);
    check("server: 'ftp://a'", "", &[k, "http and https"]);
    check(HTTPS, "username: u, token: t", &[bob, "keep one"]);
    check(HTTPS, "client-certificate-data: Q1JU", &[bob, "client-key"]);
    check(HTTPS, "client-certificate: no.crt, client-key-data: Q1JU", &[bob, "<dir>/no.crt"]);
    check(HTTPS, "tokenFile: gone", &[bob, "<dir>/gone"]);
    check(HTTPS, "as-groups: [g]", &[bob, "`as`"]);
    check(HTTPS, "exec: {command: c, apiVersion: v}", &[bob, "interactiveMode"]);
    check(&format!("{HTTPS}, certificate-authority: no.crt"), "", &[k, "<dir>/no.crt"]);
}

#[test]
fn what_is_not_supported_is_said_before_connecting() {
    let exec = "exec: {command: c, apiVersion: v, interactiveMode: Never}";
    let error = error_of(HTTPS, exec);
    assert!(error.contains("user `bob` in <dir>/config asks for an exec plugin"), "{error}");
    let error = error_of(HTTPS, "auth-provider: {name: gcp}");
    assert!(error.contains("user `bob` in <dir>/config asks for an auth provider"), "{error}");
    let error = error_of(&format!("{HTTPS}, proxy-url: 'socks5://p:1'"), "");
    assert!(error.contains("cluster `k` in <dir>/config asks for a proxy"), "{error}");
}

#[tokio::test]
async fn a_plugin_is_not_needed_beside_a_token() {
    let exec = "token: t, exec: {command: c, apiVersion: v, interactiveMode: Never}";
    let folder = Folder::with(&[("config", &kubeconfig(HTTPS, exec))]);
    assert_eq!(token(&folder.load("config").unwrap()).await, "Bearer t");
    folder.write("config", &kubeconfig(HTTPS, &exec["token: t, ".len()..]));
    let error = folder.load("config").unwrap().authorization().await.unwrap_err();
    assert!(matches!(error, ConfigError::Unsupported { .. }), "{error}");
}

#[tokio::test]
async fn a_token_file_and_a_user_name_exclude_each_other() {
    let folder = Folder::with(&[("config", &kubeconfig(HTTPS, "username: u, tokenFile: t")), ("t", "x")]);
    let error = folder.load("config").unwrap().authorization().await.unwrap_err();
    assert!(matches!(error, ConfigError::Invalid { .. }), "{error}");
}

#[test]
fn an_entry_that_does_not_exist_is_an_error() {
    let text = kubeconfig(HTTPS, "token: t");
    for (from, to, missing) in [
        ("user: bob}}]", "user: ghost}}]", "user `ghost` does not exist in"),
        ("cluster: k,", "cluster: ghost,", "cluster `ghost` does not exist in"),
        ("current-context: dev", "current-context: ghost", "context `ghost` does not exist in"),
    ] {
        assert!(text.contains(from));
        let folder = Folder::with(&[("config", &text.replace(from, to))]);
        let error = folder.load("config").unwrap_err();
        assert!(matches!(error, ConfigError::Unknown { .. }), "{error}");
        assert!(error.to_string().contains(missing), "{error}");
        assert!(error.to_string().contains(folder.path("config").to_str().unwrap()), "{error}");
    }
}

#[test]
fn a_name_that_is_defined_twice_is_an_error() {
    let twice = "users: [{name: bob}, {name: bob}]";
    let error = Folder::with(&[("config", twice)]).load("config").unwrap_err();
    assert!(error.to_string().contains("users[bob]"), "{error}");
}

// === support ===

/// Keeps the text of every event.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut Text(&mut self.0.lock().unwrap()));
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = writeln!(self.0, "{field}={value:?}");
    }
}
