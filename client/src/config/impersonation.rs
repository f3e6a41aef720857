use std::collections::BTreeMap;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What may stand in the name of a header; the rest is percent-encoded.
const EXTRA_KEY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'*')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// Whom to act as: the `as` fields of a user entry.
///
/// # Example
///
/// ```
/// use http::HeaderMap;
/// use lariat_client::config::{Config, Impersonation};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), lariat_client::config::ConfigError> {
/// let jane = Impersonation { user: "jane".into(), groups: vec!["ops".into()], ..Impersonation::default() };
/// let config = Config::new("https://a.example".parse().unwrap())?.with_impersonation(jane);
///
/// let mut headers = HeaderMap::new();
/// config.authorize(&mut headers).await?;
/// assert_eq!(headers["impersonate-user"], "jane");
/// assert_eq!(headers["impersonate-group"], "ops");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// The user's name; without it nothing else may be set.
    pub user: String,
    /// The user's uid.
    pub uid: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// Further attributes for authorizers.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Impersonation {
    /// Whether something is asked for without a user to act as.
    pub(super) fn lacks_user(&self) -> bool {
        self.user.is_empty() && !(self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty())
    }

    /// Adds the headers, or names the field that no header can hold.
    pub(super) fn apply(&self, headers: &mut HeaderMap) -> Result<(), &'static str> {
        headers.insert("impersonate-user", value(&self.user, "as")?);
        if !self.uid.is_empty() {
            headers.insert("impersonate-uid", value(&self.uid, "as-uid")?);
        }
        for group in &self.groups {
            headers.append("impersonate-group", value(group, "as-groups")?);
        }
        for (key, values) in &self.extra {
            let name = format!("impersonate-extra-{}", utf8_percent_encode(key, EXTRA_KEY));
            let name = HeaderName::try_from(name).map_err(|_| "as-user-extra")?;
            for each in values {
                headers.append(name.clone(), value(each, "as-user-extra")?);
            }
        }
        Ok(())
    }
}

fn value(text: &str, field: &'static str) -> Result<HeaderValue, &'static str> {
    HeaderValue::try_from(text).map_err(|_| field)
}
