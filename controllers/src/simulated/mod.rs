//! Nodes that only seem to be there: they run pods in word only, for tests, demonstrations and load (no kubelet, no container).
//!
//! They do what scheduler, kubelet and SDK sidecar would do to the API: bind pods to nodes on which their host ports are free,
//! mark them as running, say for games that they are ready, and take pods away that are deleted. On demand pods fail, are
//! evicted or vanish, and sessions end.

mod fate;
mod nodes;
mod placement;

pub use nodes::{NodeSettings, SimulatedNodes};
