use std::fmt::{self, Debug, Formatter};
use std::io;
use std::sync::Weak;

use tokio::io::{DuplexStream, duplex};

use crate::handle::PIPE;
use crate::port::serve_loopback;
use crate::server::Shared;

/// The way from an API to the server that it is part of: connections over which everybody is let in, without a token.
///
/// It does not keep the server running.
///
/// # Example
///
/// ```
/// use lariat_api::{DynamicObject, Kind, ObjectKey};
/// use lariat_apiserver::ApiServer;
/// use lariat_client::{Api, Client, Config};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::builder().token("secret").build();
/// let loopback = server.loopback();
/// let connector = move |_: &http::Uri| std::future::ready(loopback.connect());
/// let client = Client::builder(Config::new("http://in-process".parse()?)?).connector(connector).build()?;
/// let namespaces = Api::<DynamicObject>::of_kind(client, Kind::cluster("", "v1", "Namespace", "namespaces"), "");
/// assert!(namespaces.get(&ObjectKey::new("", "default")).await.is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Loopback(pub(crate) Weak<Shared>);

impl Loopback {
    /// A new connection to the server: what is written to it is HTTP/1.1.
    ///
    /// # Errors
    ///
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if the server is gone.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect(&self) -> io::Result<DuplexStream> {
        let shared = self.0.upgrade().ok_or(io::ErrorKind::ConnectionRefused)?;
        let (client, server) = duplex(PIPE);
        tokio::spawn(serve_loopback(shared, server));
        Ok(client)
    }
}

impl Debug for Loopback {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loopback").finish_non_exhaustive()
    }
}
