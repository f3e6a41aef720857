//! `lariat rbac`: what `lariat controller` needs to be allowed.

use crate::output;

/// Print the service account and the role that lariat controller needs, for kubectl apply -f -
///
/// They are the Agones controller's: where that is installed, nothing has to be applied. The namespace has to be there.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The namespace of the service account
    #[arg(long, short, default_value = "agones-system", value_name = "NAMESPACE")]
    namespace: String,
}

/// As JSON documents, which are YAML, too.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    for object in lariat_controllers::access::all(&args.namespace) {
        output::print(&format!("---\n{object:#}\n"))?;
    }
    Ok(())
}
