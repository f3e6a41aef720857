//! What an autoscaler's policy asks for, whatever sort of policy it is.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;

use super::capacity::{Counted, capacity};
use super::policy::{PolicyError, Target, buffer};
use super::webhook::Hooks;
use crate::gameservers::order::NodeCounts;
use crate::gates::{FeatureGates, Gate};
use crate::schedule::is_active;
use crate::types::{ChainEntry, Fleet, FleetAutoscalerPolicy, GameServer};

/// What a policy looks at.
pub struct Situation<'a> {
    /// The uid of the autoscaler.
    pub autoscaler: &'a str,
    /// The fleet.
    pub fleet: &'a Fleet,
    /// The fleet's servers, for policies that look at them.
    pub servers: &'a (dyn Fn() -> Vec<Arc<GameServer>> + Sync),
    /// The servers on each node.
    pub counts: &'a NodeCounts,
    /// The time of day.
    pub now: Timestamp,
    /// Which features are on.
    pub gates: FeatureGates,
    /// The clients of webhooks.
    pub hooks: &'a Hooks,
    /// A uid for a request that may be made.
    pub request_uid: &'a str,
}

/// What a policy says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// A size, and the policy that asked for it: its type, or `Chain:id:type`.
    Size(Target, String),
    /// Nothing for now: a schedule is not active, or none of a chain. The fleet stays as it is (trap 10).
    Inactive,
}

/// How deeply policies may be nested: a chain, a schedule, a policy.
const DEPTH: usize = 3;

impl Situation<'_> {
    /// What a policy asks for.
    ///
    /// # Errors
    ///
    /// See [`PolicyError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops a request to a webhook that may be under way.
    pub async fn verdict(&self, policy: &FleetAutoscalerPolicy) -> Result<Verdict, PolicyError> {
        self.at_depth(policy, DEPTH).await
    }

    fn at_depth<'a>(
        &'a self,
        policy: &'a FleetAutoscalerPolicy,
        depth: usize,
    ) -> Pin<Box<dyn Future<Output = Result<Verdict, PolicyError>> + Send + 'a>> {
        Box::pin(async move {
            let Some(depth) = depth.checked_sub(1) else { return Err(PolicyError::Nested) };
            let kind = policy.kind.as_str();
            let size = |target| Verdict::Size(target, kind.to_owned());
            let missing = |kind, field| PolicyError::NoSettings { kind, field };
            match kind {
                "Buffer" => {
                    let settings = policy.buffer.as_ref().ok_or_else(|| missing("Buffer", "buffer"))?;
                    buffer(settings, self.fleet).map(size)
                }
                "Webhook" => {
                    let settings = policy.webhook.as_ref().ok_or_else(|| missing("Webhook", "webhook"))?;
                    let asked =
                        self.hooks.ask(self.autoscaler, settings, self.fleet, self.request_uid, self.gates);
                    Ok(size(asked.await?))
                }
                "Counter" | "List" => {
                    let (counted, kind, settings) = match kind {
                        "Counter" => (Counted::Counter, "Counter", policy.counter.as_ref()),
                        _ => (Counted::List, "List", policy.list.as_ref()),
                    };
                    if !self.gates.has(Gate::CountsAndLists) {
                        return Err(PolicyError::GateOff { kind, gate: "CountsAndLists" });
                    }
                    let field = if kind == "Counter" { "counter" } else { "list" };
                    let settings = settings.ok_or_else(|| missing(kind, field))?;
                    capacity(settings, counted, self.fleet, &(self.servers)(), self.counts).map(size)
                }
                "Schedule" => {
                    if !self.gates.has(Gate::ScheduledAutoscaler) {
                        let gate = "ScheduledAutoscaler";
                        return Err(PolicyError::GateOff { kind: "Schedule", gate });
                    }
                    let settings = policy.schedule.as_ref().ok_or_else(|| missing("Schedule", "schedule"))?;
                    if !is_active(settings, self.now)? {
                        return Ok(Verdict::Inactive);
                    }
                    Ok(match self.at_depth(&settings.policy, depth).await? {
                        Verdict::Size(target, _) => size(target),
                        Verdict::Inactive => Verdict::Inactive,
                    })
                }
                "Chain" => {
                    if !self.gates.has(Gate::ScheduledAutoscaler) {
                        let gate = "ScheduledAutoscaler";
                        return Err(PolicyError::GateOff { kind: "Chain", gate });
                    }
                    self.chain(&policy.chain, depth).await
                }
                "Wasm" if !self.gates.has(Gate::WasmAutoscaler) => {
                    Err(PolicyError::GateOff { kind: "Wasm", gate: "WasmAutoscaler" })
                }
                "Wasm" => Err(PolicyError::NoWasm),
                unknown => Err(PolicyError::UnknownType(unknown.to_owned())),
            }
        })
    }

    /// The first policy that has something to say is followed; one that fails is passed over.
    async fn chain(&self, chain: &[ChainEntry], depth: usize) -> Result<Verdict, PolicyError> {
        if chain.is_empty() {
            return Err(PolicyError::EmptyChain);
        }
        let mut failure = None;
        for entry in chain {
            match self.at_depth(&entry.policy, depth).await {
                Ok(Verdict::Size(target, kind)) => {
                    return Ok(Verdict::Size(target, format!("Chain:{}:{kind}", entry.id)));
                }
                Ok(Verdict::Inactive) => {}
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) => Err(PolicyError::Chain(Box::new(error))),
            None => Ok(Verdict::Inactive),
        }
    }
}
