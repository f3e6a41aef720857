//! From a merged kubeconfig and the command line to one server and one user, with client-go's checks.

use std::fs::{self, File};
use std::path::Path;

use http::Uri;
use http::uri::{PathAndQuery, Scheme};

use super::credentials::{Basic, Bearer, ClientCertificate, Credentials};
use super::error::{ConfigError, Entry, EntryKind};
use super::kubeconfig::{Cluster, Context, Kubeconfig, User};
use super::proxy::ProxyUrl;
use super::secret::Secret;
use super::tls::{Pem, TlsOptions};
use super::{Config, DEFAULT_NAMESPACE};

/// What the command line puts above the kubeconfig, as kubectl's flags do. An empty text is no override.
///
/// # Example
///
/// ```
/// use lariat_client::config::{Config, Environment, Overrides};
///
/// let overrides = Overrides { server: Some("https://a.example:6443".into()), ..Overrides::default() };
/// let config = Config::infer_from(&Environment::default(), &overrides)?;
/// assert_eq!(config.server(), "https://a.example:6443/");
/// # Ok::<(), lariat_client::config::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--context`.
    pub context: Option<String>,
    /// `--namespace`.
    pub namespace: Option<String>,
    /// `--server`. It also drops the `tls-server-name` of the cluster entry.
    pub server: Option<String>,
    /// `--token`.
    pub token: Option<Secret>,
    /// `--cluster`.
    pub cluster: Option<String>,
    /// `--user`.
    pub user: Option<String>,
    /// `--insecure-skip-tls-verify`. It also drops the certificate authority of the cluster entry.
    pub insecure: bool,
}

impl Overrides {
    pub(super) fn text<'a>(&self, value: &'a Option<String>) -> Option<&'a str> {
        value.as_deref().filter(|text| !text.is_empty())
    }

    pub(super) fn token(&self) -> Option<&Secret> {
        self.token.as_ref().filter(|token| !token.expose().is_empty())
    }
}

pub(super) fn resolve(kubeconfig: &Kubeconfig, overrides: &Overrides) -> Result<Config, ConfigError> {
    let context = context(kubeconfig, overrides)?;
    let (cluster_entry, cluster) = cluster(kubeconfig, overrides, &context)?;
    let (user_entry, user) = user(kubeconfig, overrides, &context)?;
    check_user(&user, &user_entry)?;
    check_cluster(&cluster, &cluster_entry)?;

    let mut config = Config::new(server(&cluster.server, &cluster_entry)?)?;
    let secure = config.is_tls();
    let credentials = credentials(&user, &user_entry, secure)?;
    config.proxy = proxy(&cluster, &cluster_entry)?;
    config.disable_compression = cluster.disable_compression;
    config.default_namespace = match context.1.namespace {
        namespace if namespace.is_empty() => DEFAULT_NAMESPACE.to_owned(),
        namespace => namespace,
    };
    config.cluster = cluster_entry;
    config.user = user_entry;
    Ok(config
        .with_tls(TlsOptions {
            certificate_authority: pem(&cluster.ca_data, cluster.ca_file.as_deref()),
            insecure_skip_tls_verify: cluster.insecure_skip_tls_verify,
            server_name: Some(cluster.tls_server_name).filter(|name| !name.is_empty()),
        })
        .with_impersonation(user.impersonation)
        .with_credentials(credentials))
}

/// The context that is chosen, with who chose it; an empty one if nobody chose.
fn context(kubeconfig: &Kubeconfig, overrides: &Overrides) -> Result<(String, Context), ConfigError> {
    let (name, named_by) = match overrides.text(&overrides.context) {
        Some(name) => (name, "the overrides"),
        None => (kubeconfig.current_context.as_str(), "current-context"),
    };
    let mut context = match kubeconfig.contexts.get(name) {
        Some(context) => context.clone(),
        None if name.is_empty() => Context::default(),
        None => return Err(unknown(kubeconfig, EntryKind::Context, name, named_by.to_owned())),
    };
    let entry = Entry::new(EntryKind::Context, name, context.origin.as_deref());
    if let Some(namespace) = overrides.text(&overrides.namespace) {
        namespace.clone_into(&mut context.namespace);
    }
    Ok((entry.to_string(), context))
}

fn cluster(
    kubeconfig: &Kubeconfig,
    overrides: &Overrides,
    (context_entry, context): &(String, Context),
) -> Result<(Entry, Cluster), ConfigError> {
    let server = overrides.text(&overrides.server);
    let forced = overrides.text(&overrides.cluster);
    let name = forced.unwrap_or(&context.cluster);
    let mut cluster = match kubeconfig.clusters.get(name) {
        Some(cluster) => cluster.clone(),
        None if forced.is_none() && (name.is_empty() || server.is_some()) => Cluster::default(),
        None => {
            let named_by = forced.map_or_else(|| context_entry.clone(), |_| "the overrides".to_owned());
            return Err(unknown(kubeconfig, EntryKind::Cluster, name, named_by));
        }
    };
    if cluster.origin.is_none() && server.is_none() {
        return Err(ConfigError::Empty { looked_in: kubeconfig.files.clone() });
    }
    if let Some(server) = server {
        server.clone_into(&mut cluster.server);
        cluster.tls_server_name.clear();
    }
    if overrides.insecure {
        cluster.insecure_skip_tls_verify = true;
        cluster.ca_file = None;
        cluster.ca_data.clear();
    }
    Ok((Entry::new(EntryKind::Cluster, name, cluster.origin.as_deref()), cluster))
}

fn user(
    kubeconfig: &Kubeconfig,
    overrides: &Overrides,
    (context_entry, context): &(String, Context),
) -> Result<(Entry, User), ConfigError> {
    let forced = overrides.text(&overrides.user);
    let name = forced.unwrap_or(&context.user);
    let mut user = match kubeconfig.users.get(name) {
        Some(user) => user.clone(),
        None if name.is_empty() => User::default(),
        None => {
            let named_by = forced.map_or_else(|| context_entry.clone(), |_| "the overrides".to_owned());
            return Err(unknown(kubeconfig, EntryKind::User, name, named_by));
        }
    };
    if let Some(token) = overrides.token() {
        user.token = token.clone();
    }
    Ok((Entry::new(EntryKind::User, name, user.origin.as_deref()), user))
}

fn unknown(kubeconfig: &Kubeconfig, kind: EntryKind, name: &str, named_by: String) -> ConfigError {
    let looked_in = kubeconfig.files.clone();
    ConfigError::Unknown { entry: Entry::new(kind, name, None), named_by, looked_in }
}

fn check_cluster(cluster: &Cluster, entry: &Entry) -> Result<(), ConfigError> {
    if cluster.server.is_empty() {
        return Err(entry.invalid("server is missing"));
    }
    if let Some(file) = &cluster.ca_file {
        if !cluster.ca_data.is_empty() {
            return Err(entry.invalid(
                "certificate-authority and certificate-authority-data are both given; keep one of them",
            ));
        }
        check_readable(file, "certificate-authority", entry)?;
    }
    Ok(())
}

fn check_user(user: &User, entry: &Entry) -> Result<(), ConfigError> {
    let basic = !user.username.is_empty() || !user.password.expose().is_empty();
    if basic && !user.token.expose().is_empty() {
        return Err(entry.invalid("token and username or password are both given; keep one of them"));
    }
    if user.certificate_file.is_some() || !user.certificate_data.is_empty() {
        check_certificate(user, entry)?;
    }
    if let Some(exec) = &user.exec {
        let reason = if user.auth_provider.is_some() {
            "exec and auth-provider are both given; keep one of them"
        } else if exec.command.is_empty() {
            "exec needs a command"
        } else if exec.api_version.is_empty() {
            "exec needs an apiVersion"
        } else if exec.env.iter().any(|(name, _)| name.is_empty()) {
            "exec has an env entry without a name"
        } else if !matches!(exec.interactive_mode.as_str(), "Never" | "IfAvailable" | "Always") {
            "exec needs an interactiveMode of Never, IfAvailable or Always"
        } else {
            ""
        };
        if !reason.is_empty() {
            return Err(entry.invalid(reason));
        }
    }
    if user.impersonation.lacks_user() {
        return Err(entry.invalid("as-uid, as-groups and as-user-extra need the user to act as in `as`"));
    }
    Ok(())
}

fn check_certificate(user: &User, entry: &Entry) -> Result<(), ConfigError> {
    let key_data = !user.key_data.expose().is_empty();
    if user.certificate_file.is_some() && !user.certificate_data.is_empty() {
        return Err(
            entry.invalid("client-certificate and client-certificate-data are both given; keep one of them")
        );
    }
    if user.key_file.is_some() && key_data {
        return Err(entry.invalid("client-key and client-key-data are both given; keep one of them"));
    }
    if user.key_file.is_none() && !key_data {
        return Err(entry.invalid("a client certificate needs client-key or client-key-data"));
    }
    for (file, field) in [(&user.certificate_file, "client-certificate"), (&user.key_file, "client-key")] {
        if let Some(file) = file {
            check_readable(file, field, entry)?;
        }
    }
    Ok(())
}

fn check_readable(file: &Path, field: &str, entry: &Entry) -> Result<(), ConfigError> {
    File::open(file).map(|_| ()).map_err(|source| entry.unreadable(field, file, source))
}

/// The credentials of a user entry. A token file is only opened for a server that will get the token.
fn credentials(user: &User, entry: &Entry, secure: bool) -> Result<Credentials, ConfigError> {
    let inline = !user.token.expose().is_empty();
    let bearer = match &user.token_file {
        None if !inline => None,
        Some(file) if !inline => {
            let token = if secure {
                fs::read_to_string(file).map_err(|source| entry.unreadable("tokenFile", file, source))?
            } else {
                String::new()
            };
            Some(Bearer::new(token.into(), Some(file.clone())))
        }
        file => Some(Bearer::new(user.token.clone(), file.clone())),
    };
    let basic = if user.username.is_empty() && user.password.expose().is_empty() {
        None
    } else {
        Some(Basic { username: user.username.clone(), password: user.password.clone() })
    };
    let certificate = pem(&user.certificate_data, user.certificate_file.as_deref());
    let key = pem(user.key_data.expose(), user.key_file.as_deref());
    let client_certificate =
        certificate.zip(key).map(|(certificate, key)| ClientCertificate { certificate, key });
    Ok(Credentials {
        bearer,
        basic,
        client_certificate,
        exec: user.exec.clone(),
        auth_provider: user.auth_provider.clone(),
    })
}

fn proxy(cluster: &Cluster, entry: &Entry) -> Result<Option<ProxyUrl>, ConfigError> {
    let url = cluster.proxy_url.expose();
    if url.is_empty() {
        return Ok(None);
    }
    let invalid = || entry.invalid("proxy-url is not a URL that begins with http, https or socks5");
    ProxyUrl::parse(url).ok_or_else(invalid).map(Some)
}

fn pem(data: &[u8], file: Option<&Path>) -> Option<Pem> {
    if data.is_empty() { file.map(|file| Pem::File(file.to_owned())) } else { Some(Pem::data(data)) }
}

/// The server as a URL. Without a scheme it is plain HTTP, as in client-go; query and fragment are dropped.
pub(super) fn server(text: &str, entry: &Entry) -> Result<Uri, ConfigError> {
    let invalid = |reason: &str| entry.invalid(format!("server {reason}; write it like https://host:6443"));
    let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let mut parts = full.parse::<Uri>().map_err(|_| invalid("is not a URL"))?.into_parts();
    if parts.authority.as_ref().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(invalid("holds a user name; put it into the user entry"));
    }
    if !matches!(&parts.scheme, Some(scheme) if *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS) {
        return Err(invalid("has a scheme other than http and https"));
    }
    if let Some(path) = parts.path_and_query.as_ref().filter(|path| path.query().is_some()) {
        parts.path_and_query = PathAndQuery::try_from(path.path()).ok();
    }
    Uri::from_parts(parts).map_err(|_| invalid("is not a URL"))
}
