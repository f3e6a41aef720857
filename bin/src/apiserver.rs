//! `lariat apiserver`: the embedded API server on a port.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lariat_apiserver::{ApiServer, ServerIdentity, random_token};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tracing_subscriber::filter::LevelFilter;

use crate::{logging, output};

/// Serve the Kubernetes API from memory, for kubectl and for controllers under test, until SIGINT or SIGTERM
///
/// There is no scheduler, no kubelet and no disk: what is stored is gone when the program ends. Clients need the token and the
/// authority in the kubeconfig that it writes; without the token, only /livez, /readyz and /version answer. With the environment variable
/// RUST_LOG=lariat_apiserver=debug each request is logged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on; port 0 is any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// Where to write the kubeconfig, which only you may read
    #[arg(long, value_name = "FILE", default_value = "lariat.kubeconfig")]
    kubeconfig_out: PathBuf,

    /// Definitions of custom resources to begin with, in YAML or JSON; of a folder, all its files
    #[arg(long, value_name = "FILE|DIR")]
    crd: Vec<PathBuf>,
}

/// The name of cluster, user and context in the kubeconfig, by which a later run knows its own.
const NAME: &str = "lariat";

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    logging::init(LevelFilter::INFO);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(serve(args))
}

async fn serve(args: &Args) -> anyhow::Result<()> {
    let signals = lariat::signals().context("cannot wait for signals")?;
    let token = random_token()?;
    let server = ApiServer::builder().token(token.as_str()).remember_requests(false).build();
    for path in &args.crd {
        for file in files(path)? {
            load(&server, &file)?;
        }
    }
    let listener =
        TcpListener::bind(args.listen).await.with_context(|| format!("cannot listen on {}", args.listen))?;
    let address = listener.local_addr().context("the listener has no address")?;
    let identity = ServerIdentity::generate(address.ip())?;
    write_kubeconfig(&args.kubeconfig_out, address, &token, &identity)?;
    output::print(&format!(
        "serving on https://{address}\nexport KUBECONFIG={}\n",
        args.kubeconfig_out.display()
    ))?;
    tokio::select! {
        () = server.serve_tls(listener, identity) => {}
        () = signals => {}
    }
    tracing::info!("stopped");
    Ok(())
}

/// The file, or the YAML and JSON files of a folder in the order of their names.
fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).with_context(|| format!("cannot read the folder {}", path.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.with_context(|| format!("cannot read the folder {}", path.display()))?.path();
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if matches!(extension, "yaml" | "yml" | "json") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Creates the definitions in a file.
fn load(server: &ApiServer, path: &Path) -> anyhow::Result<()> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    for (index, document) in serde_saphyr::read::<_, Value>(&mut file).enumerate() {
        let what = || format!("{}, document {}", path.display(), index + 1);
        let document = document.map_err(|error| anyhow::anyhow!("{error}")).with_context(what)?;
        match document["kind"].as_str() {
            _ if document.is_null() => {}
            Some("CustomResourceDefinition") => {
                let refused = server.define(document);
                refused.map_err(|status| anyhow::anyhow!("{}", status.message)).with_context(what)?;
            }
            kind => bail!(
                "{}: is {}, but only a CustomResourceDefinition can be loaded; apply the rest with kubectl",
                what(),
                kind.unwrap_or("no object")
            ),
        }
    }
    Ok(())
}

/// Writes what a client needs to a file that only its owner may read. Leaves alone what is not of an earlier run.
pub(crate) fn write_kubeconfig(
    path: &Path,
    address: SocketAddr,
    token: &str,
    identity: &ServerIdentity,
) -> anyhow::Result<()> {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": NAME,
        "clusters": [{"name": NAME, "cluster": {
            "server": format!("https://{address}"),
            "certificate-authority-data": STANDARD.encode(identity.authority_pem()),
        }}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
    });
    match fs::read(path) {
        Ok(before) => {
            let before: Value = serde_json::from_slice(&before).unwrap_or_default();
            if before["current-context"] != NAME {
                bail!(
                    "{} is not from an earlier run and stays; name another --kubeconfig-out",
                    path.display()
                );
            }
            fs::remove_file(path).with_context(|| format!("cannot replace {}", path.display()))?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("cannot replace {}", path.display())),
    }
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = opened.with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(file, "{config:#}").with_context(|| format!("cannot write {}", path.display()))
}
