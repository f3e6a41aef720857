use lariat::api::DynamicObject;
use lariat::client::{DeleteParams, Propagation};
use lariat::prelude::*;

use super::address::{apply_address, status_port};
use super::context::{Context, Outcome, SyncError};
use super::pod::pod;
use super::ports::split;
use crate::defaults;
use crate::gates::Gate;
use crate::time::rfc3339;
use crate::types::{GameServer, GameServerPort, GameServerState, NodeAddress, Pod, names};

impl Context {
    /// Takes a server as far as it goes: from its ports to its pod, its address and Ready, and in the end away (GS-1 to GS-7).
    ///
    /// # Errors
    ///
    /// See [`SyncError`]; the server is to be tried again, after what its cache holds then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the server at the last state that was written; another look goes on from there.
    pub async fn sync(&self, key: &ObjectKey) -> Result<Outcome, SyncError> {
        let Some(server) = self.servers.get(key) else { return Ok(Outcome::Done) };
        let mut server = GameServer::clone(&server);
        if server.metadata.is_being_deleted() {
            return self.finalize(server).await;
        }
        if server.status.state == GameServerState::None {
            // No webhook has seen it.
            defaults::game_server(&mut server, self.gates);
        }
        if server.status.state == GameServerState::PortAllocation {
            server = self.allocate_ports(server).await?;
        }
        if let Some(address) = server.dev_address().map(str::to_owned) {
            server = self.ready_dev_server(server, &address).await?;
        } else {
            if server.status.state == GameServerState::Creating {
                server = self.create_pod(server).await?;
            }
            if server.status.state == GameServerState::Starting {
                match self.schedule(server).await? {
                    Ok(scheduled) => server = scheduled,
                    Err(waiting) => return Ok(Outcome::Waiting(waiting)),
                }
            }
            if server.status.state == GameServerState::RequestReady {
                match self.make_ready(server).await? {
                    Ok(ready) => server = ready,
                    Err(waiting) => return Ok(Outcome::Waiting(waiting)),
                }
            }
        }
        if server.status.state == GameServerState::Shutdown {
            self.delete(&server).await?;
        }
        Ok(Outcome::Done)
    }

    /// GS-1: the pod goes first, then the finalizer.
    async fn finalize(&self, mut server: GameServer) -> Result<Outcome, SyncError> {
        if !server.is_dev()
            && let Some(pod) = self.pod_of(&server)
        {
            if !pod.metadata.is_being_deleted() {
                let params = DeleteParams { uid: pod.metadata.uid.to_string(), ..DeleteParams::default() };
                if let Some(key) = super::context::key_of(&*pod) {
                    ignore_missing(self.pod_api.delete(&key, &params).await)?;
                }
                let message = format!("Deleting Pod {}", pod.metadata.name);
                self.events.normal(&server, server.status.state.as_str(), message);
            }
            // Its deletion brings the server back here.
            return Ok(Outcome::Done);
        }
        let before = server.metadata.finalizers.len();
        let ours = |name: &String| name == names::FINALIZER || name == names::LEGACY_FINALIZER;
        server.metadata.finalizers.retain(|name| !ours(name));
        if server.metadata.finalizers.len() == before {
            return Ok(Outcome::Done);
        }
        match self.servers.update(&server).await {
            Ok(_) => Ok(Outcome::Done),
            Err(error) if error.is_not_found() => Ok(Outcome::Done),
            Err(error) => Err(error.into()),
        }
    }

    /// GS-2.
    async fn allocate_ports(&self, mut server: GameServer) -> Result<GameServer, SyncError> {
        // What an earlier try got and could not write down is given back first.
        self.ports.deallocate(server.uid());
        self.ports.allocate(&mut server);
        server.status.state = GameServerState::Creating;
        match self.servers.update(&server).await {
            Ok(written) => {
                self.events.normal(&*written, "PortAllocation", "Port allocated");
                Ok(GameServer::clone(&written))
            }
            Err(error) => {
                self.ports.deallocate(server.uid());
                Err(error.into())
            }
        }
    }

    /// GS-3.
    async fn create_pod(&self, mut server: GameServer) -> Result<GameServer, SyncError> {
        if self.pod_of(&server).is_none() {
            let mut twins = Vec::new();
            for port in &mut server.spec.ports {
                if port.port_policy == "Static" && port.protocol == "TCPUDP" {
                    // The original leaves the range out here, which means nothing for a static port.
                    twins.push(GameServerPort { range: String::new(), ..split(port) });
                }
            }
            server.spec.ports.append(&mut twins);
            let pod = match pod(&server, &self.settings, self.gates) {
                Ok(pod) => pod,
                Err(error) if error.is_retried() => return Err(error.into()),
                Err(error) => return self.fail(server, &error.to_string()).await,
            };
            let pod: DynamicObject = serde_json::from_value(pod)?;
            match self.pod_api.create(&pod).await {
                Ok(_) => {
                    let message = format!("Pod {} created", server.name());
                    self.events.normal(&server, "Creating", message);
                }
                Err(error) if error.is_already_exists() => {
                    self.events.normal(&server, "Creating", "Pod already exists, reused");
                }
                Err(error) => {
                    let status = error.status();
                    if let Some(status) = status.filter(|status| status.is_invalid() || status.is_forbidden())
                    {
                        let message = status.message.clone();
                        return self.fail(server, &message).await;
                    }
                    let message = format!("error creating Pod for GameServer {}", server.name());
                    self.events.warning(&server, "Creating", message);
                    return Err(error.into());
                }
            }
        }
        server.status.state = GameServerState::Starting;
        Ok(GameServer::clone(&*self.servers.update(&server).await?))
    }

    /// No pod can be made of this server: it stays so until its set replaces it.
    async fn fail(&self, mut server: GameServer, message: &str) -> Result<GameServer, SyncError> {
        server.status.state = GameServerState::Error;
        server.metadata.annotations.insert(names::ERRORED_AT, rfc3339(self.clock.wall()));
        let written = self.servers.update(&server).await?;
        self.events.warning(&*written, "Error", message);
        Ok(GameServer::clone(&written))
    }

    /// GS-4.
    async fn schedule(&self, mut server: GameServer) -> Result<Result<GameServer, &'static str>, SyncError> {
        let Some(pod) = self.pod_of(&server) else { return Ok(Err("the pod is not there yet")) };
        if let Err(waiting) = self.take_address(&mut server, &pod)? {
            return Ok(Err(waiting));
        }
        server.status.state = GameServerState::Scheduled;
        let written = self.servers.update(&server).await?;
        self.events.normal(&*written, "Scheduled", "Address and port populated");
        Ok(Ok(GameServer::clone(&written)))
    }

    fn take_address(
        &self,
        server: &mut GameServer,
        pod: &Pod,
    ) -> Result<Result<(), &'static str>, SyncError> {
        if pod.spec.node_name.is_empty() {
            return Ok(Err("the pod has no node yet"));
        }
        if pod.status.pod_ips.is_empty() {
            return Ok(Err("the pod has no address yet"));
        }
        let Some(node) = self.node(&pod.spec.node_name) else { return Ok(Err("the node is not there yet")) };
        apply_address(server, &node, pod, self.gates)?;
        Ok(Ok(()))
    }

    /// GS-5.
    async fn make_ready(
        &self,
        mut server: GameServer,
    ) -> Result<Result<GameServer, &'static str>, SyncError> {
        let Some(pod) = self.pod_of(&server) else { return Ok(Err("the pod is not there")) };
        let needs_address = server.status.node_name.is_empty();
        if needs_address && let Err(waiting) = self.take_address(&mut server, &pod)? {
            return Ok(Err(waiting));
        }
        if !self.gates.has(Gate::SidecarContainers)
            && server.metadata.annotation(names::READY_CONTAINER_ID).is_none()
            && let Err(waiting) = self.note_container(&mut server, &pod).await?
        {
            return Ok(Err(waiting));
        }
        server.status.state = GameServerState::Ready;
        let written = self.servers.update(&server).await?;
        if needs_address {
            self.events.normal(&*written, "Ready", "Address and port populated");
        }
        self.events.normal(&*written, "Ready", "SDK.Ready() complete");
        Ok(Ok(GameServer::clone(&written)))
    }

    /// Which run of the game's container said that it is ready: one that ended before does not matter later.
    async fn note_container(
        &self,
        server: &mut GameServer,
        pod: &Pod,
    ) -> Result<Result<(), &'static str>, SyncError> {
        let game = &server.spec.container;
        let status = pod.status.container_statuses.iter().find(|status| status.name == *game);
        let Some(status) = status else { return Ok(Err("the game's container has not started yet")) };
        if status.state.running.is_none() {
            return Ok(Err("the game's container does not run"));
        }
        let id = &status.container_id;
        server.metadata.annotations.insert(names::READY_CONTAINER_ID, id.clone());
        if pod.metadata.annotation(names::READY_CONTAINER_ID) != Some(id) {
            let mut marked = pod.clone();
            marked.metadata.annotations.insert(names::READY_CONTAINER_ID, id.clone());
            let marked: DynamicObject = serde_json::from_value(serde_json::to_value(&marked)?)?;
            self.pod_api.update(&marked).await?;
        }
        Ok(Ok(()))
    }

    /// GS-6: a server outside of the cluster has no pod to wait for.
    async fn ready_dev_server(&self, mut server: GameServer, address: &str) -> Result<GameServer, SyncError> {
        match server.status.state {
            GameServerState::Creating => {
                server.status.ports =
                    server.spec.ports.iter().map(|port| status_port(port, self.gates)).collect();
                address.clone_into(&mut server.status.address);
                server.status.addresses =
                    vec![NodeAddress { kind: "InternalIP".to_owned(), address: address.to_owned() }];
                address.clone_into(&mut server.status.node_name);
            }
            GameServerState::RequestReady => {}
            _ => return Ok(server),
        }
        server.status.state = GameServerState::Ready;
        Ok(GameServer::clone(&*self.servers.update(&server).await?))
    }

    /// GS-7.
    async fn delete(&self, server: &GameServer) -> Result<(), SyncError> {
        let Some(key) = super::context::key_of(server) else { return Ok(()) };
        let params = DeleteParams {
            propagation: Some(Propagation::Background),
            uid: server.metadata.uid.to_string(),
            ..DeleteParams::default()
        };
        ignore_missing(self.servers.api().delete(&key, &params).await)?;
        self.events.normal(server, "Shutdown", "Deletion started");
        Ok(())
    }
}

/// What is gone already need not be deleted.
fn ignore_missing(deleted: Result<(), lariat::client::Error>) -> Result<(), lariat::client::Error> {
    match deleted {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}
