use lariat_api::Randomness;

use super::rule::Rule;

/// What goes wrong in an [`ApiServer`](crate::ApiServer), by rules that are looked at for each request.
///
/// A plan is given to the [builder](crate::ApiServerBuilder::faults) or to a [running
/// server](crate::ApiServer::set_faults), where it takes the place of the one before. [`heal`](crate::ApiServer::heal) ends
/// it. It strikes requests that come while it is there, when they were read; a request that it struck before is not freed:
/// its delay ends, its watch goes on losing or doubling events, and if it is in the black hole it stays there. Only watches
/// that are [stale](crate::Fault::stale) go on when the plan ends.
///
/// Everything random comes from the seed, and each rule has a sequence of its own: the same plan and the same requests in
/// the same order give the same faults, and a rule that is added behind the others does not change theirs.
///
/// # Faults
///
/// | fault | what happens | strikes |
/// |---|---|---|
/// | [`delay`](crate::Fault::delay), [`delay_between`](crate::Fault::delay_between) | the request is carried out later | all |
/// | [`refuse`](crate::Fault::refuse) | there is no connection | connections |
/// | [`reset`](crate::Fault::reset) | the connection breaks; no effect, no answer | all |
/// | [`black_hole`](crate::Fault::black_hole) | nothing, for ever | all |
/// | [`answer`](crate::Fault::answer), [`answer_status`](crate::Fault::answer_status) | any status and reason, `Retry-After`; no effect | all |
/// | [`cut`](crate::Fault::cut) | the connection breaks after n bytes of the body | all |
/// | [`lose_response`](crate::Fault::lose_response) | the write is done, then the connection breaks | writes |
/// | [`stale`](crate::Fault::stale) | the watch cache stands still at an older version | get, list, watch |
/// | [`error_event`](crate::Fault::error_event), [`error_event_after`](crate::Fault::error_event_after) | `ERROR` event, at once or after n events | watches |
/// | [`drop_bookmarks`](crate::Fault::drop_bookmarks) | no bookmarks | watches |
/// | [`drop_initial_events_end`](crate::Fault::drop_initial_events_end) | only the bookmark that closes initial events is missing | watches |
/// | [`duplicate_each`](crate::Fault::duplicate_each), [`duplicate_nth`](crate::Fault::duplicate_nth), [`duplicate_randomly`](crate::Fault::duplicate_randomly) | events come twice | watches |
///
/// # More than one rule
///
/// Rules are asked in the order of the plan, and several may strike one request. Whatever their order is, it goes this
/// way:
///
/// 1. All delays, one after the other.
/// 2. `reset`, `black_hole` or `answer`: the first that strikes, and the request gets no further.
/// 3. The request is carried out, by a `stale` server if one strikes.
/// 4. `lose_response`.
/// 5. What is done to the events of a watch: first bookmarks are dropped, then the `ERROR` event comes if it is due, then
///    events are doubled.
/// 6. `cut`, of whatever the answer is now.
///
/// Of rules with the same fault, delays apart, the first that strikes counts. One that cannot matter any more because a
/// rule before it struck is not asked, so its counts stay as they are: it may be a `cut` after a `reset`.
///
/// # Example
///
/// ```
/// use std::time::Duration;
///
/// use lariat_api::{DynamicObject, Kind, ObjectKey};
/// use lariat_apiserver::{ApiServer, Fault, FaultPlan, Rule};
/// use lariat_client::{Api, Client, Config};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let plan = FaultPlan::seeded(7)
///     .rule(Rule::new(Fault::answer(429, "TooManyRequests", None)).verb("get").times(1))
///     .rule(Rule::new(Fault::lose_response()).verb("create").resource("configmaps"));
/// let server = ApiServer::builder().faults(plan).build();
/// let config = Config::new("http://in-process".parse()?)?;
/// let pipes = server.clone();
/// let connector = move |_: &http::Uri| std::future::ready(pipes.try_connect());
/// let client = Client::builder(config).connector(connector).build()?;
/// let maps = Kind::namespaced("", "v1", "ConfigMap", "configmaps");
/// let maps = Api::<DynamicObject>::of_kind(client, maps, "default");
///
/// // The map is there, although the client was not told so.
/// let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}});
/// assert!(maps.create(&serde_json::from_value(map)?).await.is_err());
/// assert!(server.stored("configmaps", "default/m").is_some());
///
/// let key = ObjectKey::new("default", "m");
/// let refused = maps.get(&key).await.unwrap_err();
/// assert!(refused.status().is_some_and(|status| status.is_too_many_requests()));
/// assert!(maps.get(&key).await.is_ok());
///
/// let happened: Vec<u64> = server.faults_struck().iter().map(|struck| struck.happened).collect();
/// assert_eq!(happened, [1, 1]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FaultPlan {
    seed: u64,
    rules: Vec<Rule>,
}

impl FaultPlan {
    /// A plan without rules, whose randomness comes from a seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, rules: Vec::new() }
    }

    /// Adds a rule.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// The rules, each with a sequence of random numbers.
    pub(super) fn into_rules(self) -> impl Iterator<Item = (Rule, Randomness)> {
        let seeds = Randomness::seeded(self.seed);
        self.rules.into_iter().map(move |rule| (rule, Randomness::seeded(seeds.below(u64::MAX))))
    }
}
