use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use super::asking::Asking;
use super::fault::{Fault, Kind};

/// Which requests a [`Fault`] strikes, and how often.
///
/// A request has to meet all conditions. Without any, the rule is for all requests that the fault can strike: the faults of
/// watches strike watches only, [`lose_response`](Fault::lose_response) strikes what writes, [`stale`](Fault::stale) what
/// reads resources.
///
/// Of those that meet the conditions the first ones may be [passed over](Self::after), each of the others is struck with a
/// [probability](Self::probability), and not more than a [number](Self::times) of them.
///
/// # Example
///
/// ```
/// use lariat_apiserver::{Fault, Rule};
///
/// // One of ten updates of fleets by this client, but never the first and at most five.
/// let rule = Rule::new(Fault::lose_response())
///     .verb("update")
///     .group("agones.dev")
///     .resource("fleets")
///     .user_agent("lariat")
///     .after(1)
///     .probability(0.1)
///     .times(5);
/// # let _ = rule;
/// ```
#[derive(Clone)]
pub struct Rule {
    pub(super) fault: Fault,
    conditions: Vec<Condition>,
    pub(super) probability: f64,
    pub(super) after: u64,
    pub(super) times: u64,
}

type Condition = Arc<dyn Fn(&Asking<'_>) -> bool + Send + Sync>;

impl Rule {
    /// A fault that strikes whatever it can.
    pub fn new(fault: Fault) -> Self {
        Self { fault, conditions: Vec::new(), probability: 1.0, after: 0, times: u64::MAX }
    }

    /// Strikes only requests of which this holds. It is called for each request, and should not wait.
    #[must_use]
    pub fn on(mut self, condition: impl Fn(&Asking<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.conditions.push(Arc::new(condition));
        self
    }

    /// Strikes only this [verb](Asking::verb).
    #[must_use]
    pub fn verb(self, verb: impl Into<String>) -> Self {
        let verb = verb.into();
        self.on(move |asking| asking.verb() == verb)
    }

    /// Strikes only resources of this group, `""` for the core group.
    #[must_use]
    pub fn group(self, group: impl Into<String>) -> Self {
        let group = group.into();
        self.on(move |asking| !asking.resource().is_empty() && asking.group() == group)
    }

    /// Strikes only this resource, with its subresources, by its plural.
    #[must_use]
    pub fn resource(self, plural: impl Into<String>) -> Self {
        let plural = plural.into();
        self.on(move |asking| asking.resource() == plural)
    }

    /// Strikes only what is in this namespace.
    #[must_use]
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        self.on(move |asking| asking.namespace() == namespace)
    }

    /// Strikes only objects of this name.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.on(move |asking| asking.name() == name)
    }

    /// Strikes only this subresource, `""` for objects themselves.
    #[must_use]
    pub fn subresource(self, subresource: impl Into<String>) -> Self {
        let subresource = subresource.into();
        self.on(move |asking| asking.subresource() == subresource)
    }

    /// Strikes only clients whose `User-Agent` begins with this.
    #[must_use]
    pub fn user_agent(self, start: impl Into<String>) -> Self {
        let start = start.into();
        self.on(move |asking| asking.user_agent().starts_with(&start))
    }

    /// Strikes with this probability, 1 if nothing is given.
    #[must_use]
    pub fn probability(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    /// Passes over the first `matches` requests that meet the conditions.
    #[must_use]
    pub fn after(mut self, matches: u64) -> Self {
        self.after = matches;
        self
    }

    /// Strikes at most so often.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    pub(super) fn is_for_connections(&self) -> bool {
        matches!(self.fault.0, Kind::Refuse) && self.conditions.is_empty()
    }

    /// Whether the fault can strike the request, and the conditions hold.
    pub(super) fn is_for(&self, asking: &Asking<'_>) -> bool {
        let is_possible = match self.fault.0 {
            Kind::Delay { .. } | Kind::Reset | Kind::BlackHole | Kind::Answer(_) | Kind::Cut(_) => true,
            Kind::Refuse => false,
            Kind::LoseResponse => !matches!(asking.verb(), "" | "get" | "list" | "watch"),
            Kind::ErrorEvent { .. }
            | Kind::DropBookmarks
            | Kind::DropInitialEventsEnd
            | Kind::Duplicate(_) => asking.verb() == "watch",
            Kind::Stale(_) => {
                !asking.resource().is_empty() && matches!(asking.verb(), "get" | "list" | "watch")
            }
        };
        is_possible && self.conditions.iter().all(|condition| condition(asking))
    }
}

impl Debug for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("fault", &self.fault)
            .field("conditions", &self.conditions.len())
            .field("probability", &self.probability)
            .field("after", &self.after)
            .field("times", &self.times)
            .finish()
    }
}
