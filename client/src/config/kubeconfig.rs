//! What a kubeconfig file holds, and how several of them become one.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf, absolute};

use serde_json::Value;

use super::credentials::{AuthProvider, Exec};
use super::error::ConfigError;
use super::fields::{Fields, Misfit};
use super::impersonation::Impersonation;
use super::secret::Secret;
use super::yaml::{Place, first_document};

/// One or several kubeconfigs. Paths in it are resolved, nothing else is checked.
#[derive(Debug, Default)]
pub(super) struct Kubeconfig {
    /// The files that it is made of, also those that did not exist.
    pub(super) files: Vec<PathBuf>,
    pub(super) current_context: String,
    pub(super) clusters: Named<Cluster>,
    pub(super) users: Named<User>,
    pub(super) contexts: Named<Context>,
}

/// Entries by their names. There are few, so they are looked for one by one.
#[derive(Debug)]
pub(super) struct Named<T>(Vec<(String, T)>);

#[derive(Debug, Clone, Default)]
pub(super) struct Cluster {
    pub(super) origin: Option<PathBuf>,
    pub(super) server: String,
    pub(super) tls_server_name: String,
    pub(super) insecure_skip_tls_verify: bool,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) ca_data: Vec<u8>,
    pub(super) proxy_url: Secret,
    pub(super) disable_compression: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct User {
    pub(super) origin: Option<PathBuf>,
    pub(super) certificate_file: Option<PathBuf>,
    pub(super) certificate_data: Vec<u8>,
    pub(super) key_file: Option<PathBuf>,
    pub(super) key_data: Secret<Vec<u8>>,
    pub(super) token: Secret,
    pub(super) token_file: Option<PathBuf>,
    pub(super) impersonation: Impersonation,
    pub(super) username: String,
    pub(super) password: Secret,
    pub(super) exec: Option<Exec>,
    pub(super) auth_provider: Option<AuthProvider>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    pub(super) origin: Option<PathBuf>,
    pub(super) cluster: String,
    pub(super) user: String,
    pub(super) namespace: String,
}

impl Kubeconfig {
    /// Reads `files` and merges them: the first file that defines an entry or the current context wins, and an entry is
    /// never put together from two files. Missing files are skipped.
    pub(super) fn load(files: &[PathBuf]) -> Result<Self, ConfigError> {
        let mut merged = Self::default();
        for file in files.iter().filter(|file| !file.as_os_str().is_empty()) {
            match Self::read(file) {
                Ok(next) => merged.merge(next),
                Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            merged.files.push(file.clone());
        }
        Ok(merged)
    }

    /// Reads one file, which must exist.
    pub(super) fn read(file: &Path) -> Result<Self, ConfigError> {
        let unreadable =
            |source| ConfigError::Read { what: "the kubeconfig".to_owned(), path: file.to_owned(), source };
        let bytes = fs::read(file).map_err(unreadable)?;
        let folder = absolute(file).map_err(unreadable)?.parent().map(Path::to_owned).unwrap_or_default();
        let document = first_document(&bytes).map_err(|Place { line, column }| ConfigError::Syntax {
            path: file.to_owned(),
            line,
            column,
        })?;
        let mut config = Reader { file, folder: &folder }.kubeconfig(&document).map_err(|misfit| {
            ConfigError::Shape { path: file.to_owned(), at: misfit.at, reason: misfit.reason }
        })?;
        config.files.push(file.to_owned());
        Ok(config)
    }

    fn merge(&mut self, later: Self) {
        if self.current_context.is_empty() {
            self.current_context = later.current_context;
        }
        self.clusters.merge(later.clusters);
        self.users.merge(later.users);
        self.contexts.merge(later.contexts);
    }
}

// === impl Named ===

impl<T> Named<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find_map(|(known, entry)| (known == name).then_some(entry))
    }

    /// Adds those that are not there yet.
    fn merge(&mut self, later: Self) {
        for (name, entry) in later.0 {
            if self.get(&name).is_none() {
                self.0.push((name, entry));
            }
        }
    }
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Turns a document into a [`Kubeconfig`].
struct Reader<'a> {
    file: &'a Path,
    folder: &'a Path,
}

// === impl Reader ===

impl Reader<'_> {
    fn kubeconfig(&self, document: &Value) -> Result<Kubeconfig, Misfit> {
        let root = Fields::of(document, String::new())?;
        expect_one_of(&root, "apiVersion", &["", "v1"])?;
        expect_one_of(&root, "kind", &["", "Config"])?;
        Ok(Kubeconfig {
            files: Vec::new(),
            current_context: root.text("current-context")?,
            clusters: named(&root, "clusters", "cluster", |fields| self.cluster(fields))?,
            users: named(&root, "users", "user", |fields| self.user(fields))?,
            contexts: named(&root, "contexts", "context", |fields| self.context(fields))?,
        })
    }

    fn cluster(&self, fields: &Fields<'_>) -> Result<Cluster, Misfit> {
        Ok(Cluster {
            origin: Some(self.file.to_owned()),
            server: fields.text("server")?,
            tls_server_name: fields.text("tls-server-name")?,
            insecure_skip_tls_verify: fields.flag("insecure-skip-tls-verify")?,
            ca_file: self.path(fields, "certificate-authority")?,
            ca_data: fields.data("certificate-authority-data")?,
            proxy_url: fields.text("proxy-url")?.into(),
            disable_compression: fields.flag("disable-compression")?,
        })
    }

    fn user(&self, fields: &Fields<'_>) -> Result<User, Misfit> {
        Ok(User {
            origin: Some(self.file.to_owned()),
            certificate_file: self.path(fields, "client-certificate")?,
            certificate_data: fields.data("client-certificate-data")?,
            key_file: self.path(fields, "client-key")?,
            key_data: Secret::new(fields.data("client-key-data")?),
            token: fields.text("token")?.into(),
            token_file: self.path(fields, "tokenFile")?,
            impersonation: Impersonation {
                user: fields.text("as")?,
                uid: fields.text("as-uid")?,
                groups: fields.texts("as-groups")?,
                extra: fields.map("as-user-extra", |extra, key| extra.texts(key))?,
            },
            username: fields.text("username")?,
            password: fields.text("password")?.into(),
            exec: fields.optional_object("exec")?.map(|exec| self.exec(&exec)).transpose()?,
            auth_provider: fields.optional_object("auth-provider")?.map(|f| auth_provider(&f)).transpose()?,
        })
    }

    fn context(&self, fields: &Fields<'_>) -> Result<Context, Misfit> {
        Ok(Context {
            origin: Some(self.file.to_owned()),
            cluster: fields.text("cluster")?,
            user: fields.text("user")?,
            namespace: fields.text("namespace")?,
        })
    }

    fn exec(&self, fields: &Fields<'_>) -> Result<Exec, Misfit> {
        let mut command = fields.text("command")?;
        // A bare name is looked up in PATH.
        if command.contains(std::path::is_separator) {
            command = self.resolve(&command).to_string_lossy().into_owned();
        }
        let mut env = Vec::new();
        for (item, at) in fields.list("env")? {
            let item = Fields::of(item, at)?;
            env.push((item.text("name")?, item.text("value")?.into()));
        }
        let api_version = fields.text("apiVersion")?;
        let mut interactive_mode = fields.text("interactiveMode")?;
        if interactive_mode.is_empty() && BETA_EXEC_VERSIONS.contains(&api_version.as_str()) {
            interactive_mode = "IfAvailable".to_owned();
        }
        Ok(Exec {
            api_version,
            command,
            args: fields.texts("args")?,
            env,
            interactive_mode,
            provide_cluster_info: fields.flag("provideClusterInfo")?,
            install_hint: fields.text("installHint")?,
        })
    }

    fn path(&self, fields: &Fields<'_>, key: &str) -> Result<Option<PathBuf>, Misfit> {
        let text = fields.text(key)?;
        Ok(if text.is_empty() { None } else { Some(self.resolve(&text)) })
    }

    /// Relative to the folder of the file; an absolute path stays as it is written.
    fn resolve(&self, path: &str) -> PathBuf {
        let path = Path::new(path);
        if path.is_absolute() { path.to_owned() } else { clean(&self.folder.join(path)) }
    }
}

/// The versions of exec plugins in which the interactive mode need not be given.
const BETA_EXEC_VERSIONS: [&str; 2] =
    ["client.authentication.k8s.io/v1beta1", "client.authentication.k8s.io/v1alpha1"];

fn auth_provider(fields: &Fields<'_>) -> Result<AuthProvider, Misfit> {
    Ok(AuthProvider {
        name: fields.text("name")?,
        config: fields.map("config", |config, key| config.text(key).map(Secret::from))?,
    })
}

/// A list of `{name, <inner>}` as a map. A name that comes twice is an error.
fn named<T>(
    root: &Fields<'_>,
    list: &str,
    inner: &str,
    read: impl Fn(&Fields<'_>) -> Result<T, Misfit>,
) -> Result<Named<T>, Misfit> {
    let mut entries = Named::default();
    for (item, at) in root.list(list)? {
        let item = Fields::of(item, at)?;
        let name = item.text("name")?;
        let item = item.called(format!("{list}[{name}]"));
        let value = read(&item.object(inner)?)?;
        if entries.get(&name).is_some() {
            let reason = "this name is defined twice; rename or remove one".to_owned();
            return Err(Misfit { at: item.at().to_owned(), reason });
        }
        entries.0.push((name, value));
    }
    Ok(entries)
}

fn expect_one_of(root: &Fields<'_>, key: &str, allowed: &[&str]) -> Result<(), Misfit> {
    if allowed.contains(&root.text(key)?.as_str()) {
        return Ok(());
    }
    Err(Misfit {
        at: key.to_owned(),
        reason: "not a kubeconfig, which is apiVersion v1, kind Config".to_owned(),
    })
}

/// Takes `.` and `..` out of an absolute path by its text, as kubectl does, without asking the file system.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}
