use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no usable configuration, and what to do about it.
///
/// The texts name the file and the entry, and never quote a value from a kubeconfig that could be a secret.
///
/// # Example
///
/// ```
/// use lariat_client::config::{Config, ConfigError, Overrides};
///
/// let error = Config::from_kubeconfig_file("/no/such/file", &Overrides::default()).unwrap_err();
/// assert!(matches!(error, ConfigError::Read { .. }));
/// assert!(error.to_string().contains("/no/such/file"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file that is needed cannot be read.
    #[error("cannot read {what} {}", path.display())]
    Read {
        /// What the file is for, with the entry that names it.
        what: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A kubeconfig is neither YAML nor JSON.
    #[error("{}:{line}:{column}: not valid YAML or JSON", path.display())]
    Syntax {
        /// The kubeconfig.
        path: PathBuf,
        /// Line, from 1; 0 if unknown.
        line: u64,
        /// Column, from 1; 0 if unknown.
        column: u64,
    },
    /// A kubeconfig is well-formed, but not a kubeconfig.
    #[error("{}: {at}: {reason}", path.display())]
    Shape {
        /// The kubeconfig.
        path: PathBuf,
        /// The field, such as `users[bob].user.token`.
        at: String,
        /// What was expected.
        reason: String,
    },
    /// There is no kubeconfig, or none that chooses a cluster.
    #[error(
        "no cluster is chosen by {}; point KUBECONFIG at a kubeconfig with a current-context, or name a context or a server",
        Files(looked_in)
    )]
    Empty {
        /// The files that were looked for, in order.
        looked_in: Vec<PathBuf>,
    },
    /// An entry is named that no file defines.
    #[error("{entry} does not exist{}; it is named by {named_by}", InFiles(looked_in))]
    Unknown {
        /// The entry that is missing.
        entry: Entry,
        /// Who asked for it.
        named_by: String,
        /// The files that were looked for, in order.
        looked_in: Vec<PathBuf>,
    },
    /// An entry contradicts itself or lacks something.
    #[error("{entry}: {reason}")]
    Invalid {
        /// The entry.
        entry: Entry,
        /// What is wrong and what to do.
        reason: String,
    },
    /// An entry asks for something that this client cannot do yet.
    #[error("{entry} asks for {feature}, which is not supported yet; {instead}")]
    Unsupported {
        /// The entry.
        entry: Entry,
        /// What it asks for.
        feature: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// The process does not run in a pod.
    #[error(
        "not in a cluster: {variable} is not set; a pod gets it from the kubelet, elsewhere use a kubeconfig"
    )]
    NotInCluster {
        /// The environment variable that is missing.
        variable: &'static str,
    },
    /// Neither a kubeconfig nor the pod's service account can be used.
    #[error("no kubeconfig ({kubeconfig}) and no in-cluster configuration ({in_cluster})")]
    Nothing {
        /// Why no kubeconfig.
        kubeconfig: Box<ConfigError>,
        /// Why not in-cluster.
        #[source]
        in_cluster: Box<ConfigError>,
    },
    /// A token file holds nothing but white space, and there is no earlier token.
    #[error("{entry}: the token file {} is empty", path.display())]
    EmptyTokenFile {
        /// The user entry.
        entry: Entry,
        /// The token file.
        path: PathBuf,
    },
    /// Certificates or a key cannot be used.
    #[error("{entry}: {what}: {reason}")]
    Certificate {
        /// The entry that names them.
        entry: Entry,
        /// Which certificates or key, with the file if it is one.
        what: String,
        /// What is wrong.
        reason: String,
    },
}

/// An entry of a kubeconfig: what it is, its name and its file, for messages.
///
/// # Example
///
/// ```
/// use lariat_client::config::{Entry, EntryKind};
///
/// let entry = Entry::new(EntryKind::User, "bob", Some("/home/bob/.kube/config".as_ref()));
/// assert_eq!(entry.to_string(), "user `bob` in /home/bob/.kube/config");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    kind: EntryKind,
    name: String,
    file: Option<PathBuf>,
}

/// The three kinds of entries of a kubeconfig.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Under `contexts`.
    Context,
    /// Under `clusters`.
    Cluster,
    /// Under `users`.
    User,
}

impl ConfigError {
    /// Whether there simply is no configuration, so that another source may be tried.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::ConfigError;
    ///
    /// assert!(ConfigError::NotInCluster { variable: "KUBERNETES_SERVICE_HOST" }.is_absent());
    /// ```
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Empty { .. } | Self::NotInCluster { .. } | Self::Nothing { .. })
    }
}

// === impl Entry ===

impl Entry {
    /// An entry of this kind and name, defined in `file`.
    ///
    /// # Example
    ///
    /// ```
    /// use lariat_client::config::{Entry, EntryKind};
    ///
    /// assert_eq!(Entry::new(EntryKind::Cluster, "dev", None).to_string(), "cluster `dev`");
    /// ```
    pub fn new(kind: EntryKind, name: impl Into<String>, file: Option<&Path>) -> Self {
        Self { kind, name: name.into(), file: file.map(Path::to_owned) }
    }

    /// What it is.
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// Its name; empty if it was given by overrides or code alone.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kubeconfig that defines it.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub(super) fn invalid(&self, reason: impl Into<String>) -> ConfigError {
        ConfigError::Invalid { entry: self.clone(), reason: reason.into() }
    }

    pub(super) fn unreadable(&self, what: &str, path: &Path, source: io::Error) -> ConfigError {
        ConfigError::Read { what: format!("{what} of {self}:"), path: path.to_owned(), source }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            EntryKind::Context => f.write_str("context")?,
            EntryKind::Cluster => f.write_str("cluster")?,
            EntryKind::User => f.write_str("user")?,
        }
        if self.name.is_empty() {
            f.write_str(" (unnamed)")?;
        } else {
            write!(f, " `{}`", self.name)?;
        }
        match &self.file {
            Some(file) => write!(f, " in {}", file.display()),
            None => Ok(()),
        }
    }
}

/// Names files in a sentence.
struct Files<'a>(&'a [PathBuf]);

/// Names files after "does not exist", if there are any.
struct InFiles<'a>(&'a [PathBuf]);

impl fmt::Display for Files<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, file) in self.0.iter().enumerate() {
            write!(f, "{}{}", if at == 0 { "" } else { ", " }, file.display())?;
        }
        if self.0.is_empty() { f.write_str("any kubeconfig") } else { Ok(()) }
    }
}

impl fmt::Display for InFiles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " in {}", Files(self.0)) }
    }
}
