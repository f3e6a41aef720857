//! What is asked of a server before anything starts: whether it is there, has what is needed, and lets this program see it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, bail};
use lariat::api::{Kind, Resource};
use lariat::client::{Client, Error};
use lariat_controllers::controllers::Loop;
use lariat_controllers::types::{Fleet, FleetAutoscaler, GameServer, GameServerSet, Node, Pod};
use serde::de::IgnoredAny;
use tokio::time::{Instant, sleep};

/// How long definitions may take to come, as with the Agones controller, and how often they are looked for.
const DEFINED: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_secs(1);

/// What loops read: kinds, in all namespaces.
pub(crate) fn kinds_of(loops: &BTreeSet<Loop>) -> Vec<(Kind, String)> {
    let has = |wanted: &[Loop]| wanted.iter().any(|one| loops.contains(one));
    let kinds = [
        (GameServer::KIND, has(&[Loop::GameServers, Loop::GameServerSets, Loop::FleetAutoscalers])),
        (GameServerSet::KIND, has(&[Loop::GameServerSets, Loop::Fleets])),
        (Fleet::KIND, has(&[Loop::Fleets, Loop::FleetAutoscalers])),
        (FleetAutoscaler::KIND, has(&[Loop::FleetAutoscalers])),
        (Pod::KIND, has(&[Loop::GameServers])),
        (Node::KIND, has(&[Loop::GameServers])),
    ];
    kinds.into_iter().filter(|(_, has)| *has).map(|(kind, _)| (kind, String::new())).collect()
}

/// Waits until the server has all kinds, each in a namespace or, where that is empty, in all.
///
/// # Errors
///
/// If the server cannot be reached, refuses, or lacks a kind for a minute. The text says what to do.
pub(crate) async fn check(client: &Client, kinds: &[(Kind, String)]) -> anyhow::Result<()> {
    let server = client.config().server();
    let deadline = Instant::now() + DEFINED;
    for (kind, namespace) in kinds {
        let mut has_told = false;
        loop {
            let error = match look(client, kind, namespace).await {
                Ok(()) => break,
                Err(error) => error,
            };
            let name = format!("{}.{}", kind.plural(), kind.group());
            match error.status().map(|status| status.code) {
                Some(404) if Instant::now() < deadline => {
                    if !has_told {
                        tracing::warn!(
                            %server, definition = name,
                            "the definition is missing, waiting for it; `lariat crds | kubectl apply -f -` makes it"
                        );
                        has_told = true;
                    }
                    sleep(POLL).await;
                }
                Some(404) => bail!(
                    "{server} has had no {name} for {} s: make the definitions with `lariat crds | kubectl apply -f -`",
                    DEFINED.as_secs()
                ),
                Some(401) => {
                    return Err(error).with_context(|| {
                        format!(
                            "{server} does not take the credentials from {}: get new ones",
                            client.config().user()
                        )
                    });
                }
                Some(403) => {
                    return Err(error).context(
                        "this account may not read what is needed; for the loops `lariat rbac | kubectl apply -f -` makes one that may",
                    );
                }
                Some(_) => return Err(error).with_context(|| format!("{server} refuses")),
                None => {
                    return Err(error).with_context(|| {
                        format!("{server}, from {}, does not answer", client.config().cluster())
                    });
                }
            }
        }
    }
    Ok(())
}

/// One object at most, which need not be one that we understand.
async fn look(client: &Client, kind: &Kind, namespace: &str) -> Result<(), Error> {
    let path = format!("{}?limit=1", kind.collection_path(namespace));
    client.read::<IgnoredAny>(&path).await.map(drop)
}
