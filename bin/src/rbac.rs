//! `lariat rbac`: what `lariat controller` needs to be allowed.

use crate::output;

/// Print the service accounts and roles of lariat controller and of game servers, for kubectl apply -f -
///
/// They are those of Agones: where that is installed, nothing has to be applied. The namespaces have to be there.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The namespace of the controller's service account
    #[arg(long, short, default_value = "agones-system", value_name = "NAMESPACE")]
    namespace: String,

    /// The namespaces of game servers, separated by commas: each gets the service account agones-sdk
    #[arg(long, default_value = "default", value_name = "NAMESPACES", value_delimiter = ',')]
    games: Vec<String>,
}

/// As JSON documents, which are YAML, too.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let controller = lariat_controllers::access::controller(&args.namespace);
    let games = lariat_controllers::access::sdk(args.games.iter().map(String::as_str));
    for object in controller.into_iter().chain(games) {
        output::print(&format!("---\n{object:#}\n"))?;
    }
    Ok(())
}
