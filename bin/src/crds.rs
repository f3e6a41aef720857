//! `lariat crds`: the definitions of the custom resources.

use crate::output;

/// Print the definitions of the custom resources, for kubectl apply -f -
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// As JSON documents, which are YAML, too.
pub(crate) fn run(_args: &Args) -> anyhow::Result<()> {
    for definition in lariat_controllers::definitions::all() {
        output::print(&format!("---\n{definition:#}\n"))?;
    }
    Ok(())
}
