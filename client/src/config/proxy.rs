use std::fmt;

/// The proxy in front of a cluster. It is read, but not connected through yet.
///
/// `Debug` leaves out user name and password.
#[derive(Clone)]
pub struct ProxyUrl {
    url: String,
}

impl ProxyUrl {
    /// A URL with one of the schemes that kubectl knows.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once(':')?;
        let scheme = scheme.to_ascii_lowercase();
        let legal = !rest.contains(|c: char| c.is_whitespace() || c.is_control());
        if legal && matches!(scheme.as_str(), "http" | "https" | "socks5") {
            Some(Self { url: format!("{scheme}:{rest}") })
        } else {
            None
        }
    }

    /// The URL with everything in it.
    pub fn expose(&self) -> &str {
        &self.url
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.url.rsplit_once('@') {
            None => f.write_str(&self.url),
            Some((_, host)) => write!(f, "[redacted]@{host}"),
        }
    }
}
