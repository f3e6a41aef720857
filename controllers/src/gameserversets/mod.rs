//! The loop that keeps a number of game servers of one template (reference 3).

mod expectations;
pub mod overflow;
pub mod reconcile;
mod run;
mod status;

use lariat::api::{OwnerReference, Resource};
use lariat::prelude::*;

use crate::types::{GameServer, GameServerSet, Undecodable, names};

pub use expectations::Expectations;
pub use run::{GameServerSets, Looked, SetContext, SetError, SetsError, index_by_set};
pub use status::status;

/// A server of a set, as it is posted (GSS-5).
///
/// # Errors
///
/// If the set's template is not one.
pub fn new_game_server(set: &GameServerSet) -> Result<GameServer, Undecodable> {
    let template = set.spec.template.get()?;
    let mut server = GameServer { spec: template.spec.clone(), ..GameServer::default() };
    server.spec.scheduling.clone_from(&set.spec.scheduling);
    let meta = &mut server.metadata;
    meta.labels = template.metadata.labels.clone();
    meta.annotations = template.metadata.annotations.clone();
    meta.finalizers = template.metadata.finalizers.clone();
    meta.generate_name = format!("{}-", set.name()).as_str().into();
    meta.namespace = set.metadata.namespace.clone();
    meta.labels.insert(names::GAME_SERVER_SET.to_owned(), set.name().to_owned());
    let fleet = set.metadata.labels.get(names::FLEET).cloned().unwrap_or_default();
    meta.labels.insert(names::FLEET.to_owned(), fleet);
    meta.owner_references = template.metadata.owner_references.clone();
    meta.owner_references.push(owner_reference(set));
    Ok(server)
}

/// A reference to a controller.
pub(crate) fn owner_reference<K: Resource>(owner: &K) -> OwnerReference {
    OwnerReference {
        api_version: K::KIND.api_version().into_owned(),
        kind: K::KIND.kind().to_owned(),
        name: owner.name().to_owned(),
        uid: owner.uid().to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
