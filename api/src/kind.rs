use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// What kind of object something is, and under which path the API serves it.
///
/// # Example
///
/// ```
/// use lariat_api::Kind;
///
/// const FLEET: Kind = Kind::namespaced("agones.dev", "v1", "Fleet", "fleets");
/// assert_eq!(FLEET.api_version(), "agones.dev/v1");
/// assert_eq!(FLEET.to_string(), "fleets.agones.dev");
/// assert_eq!(FLEET.collection_path("default"), "/apis/agones.dev/v1/namespaces/default/fleets");
///
/// const NODE: Kind = Kind::cluster("", "v1", "Node", "nodes");
/// assert_eq!(NODE.collection_path(""), "/api/v1/nodes");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    group: Cow<'static, str>,
    version: Cow<'static, str>,
    kind: Cow<'static, str>,
    plural: Cow<'static, str>,
    namespaced: bool,
}

impl Kind {
    /// A kind whose objects live in namespaces. The core group is `""`.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self::fixed(group, version, kind, plural, true)
    }

    /// A kind whose objects belong to the whole cluster. The core group is `""`.
    pub const fn cluster(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self::fixed(group, version, kind, plural, false)
    }

    /// A kind that is known only at run time.
    pub fn new(
        group: impl Into<Cow<'static, str>>,
        version: impl Into<Cow<'static, str>>,
        kind: impl Into<Cow<'static, str>>,
        plural: impl Into<Cow<'static, str>>,
        namespaced: bool,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced,
        }
    }

    pub(crate) const fn fixed(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
        namespaced: bool,
    ) -> Self {
        Self {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            kind: Cow::Borrowed(kind),
            plural: Cow::Borrowed(plural),
            namespaced,
        }
    }

    /// The API group, `""` for the core group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The version within the group, such as `v1`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The kind in an object's `kind` field, such as `GameServer`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The resource name in paths, such as `gameservers`.
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// Whether objects of this kind live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// The `apiVersion` of objects of this kind: `group/version`, or the version alone for the core group.
    pub fn api_version(&self) -> Cow<'_, str> {
        if self.group.is_empty() {
            Cow::Borrowed(&self.version)
        } else {
            Cow::Owned(format!("{}/{}", self.group, self.version))
        }
    }

    /// The path of the collection in one namespace, or across all namespaces for `""`.
    ///
    /// The namespace of a kind that has none is ignored.
    pub fn collection_path(&self, namespace: &str) -> String {
        let mut path = String::with_capacity(64);
        path.push_str(if self.group.is_empty() { "/api/" } else { "/apis/" });
        if !self.group.is_empty() {
            path.push_str(&self.group);
            path.push('/');
        }
        path.push_str(&self.version);
        if self.namespaced && !namespace.is_empty() {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        path
    }
}

/// `plural.group`, or the plural alone for the core group: the name that `kubectl api-resources` and errors use.
impl Display for Kind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}
