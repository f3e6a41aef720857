use std::collections::{BTreeMap, BTreeSet};

/// Which pod is on which node, with which host ports.
#[derive(Debug, Default)]
pub(super) struct Placement {
    nodes: Vec<Node>,
    /// The place of each pod's node, by its uid, and the ports that it has there.
    pods: BTreeMap<String, (usize, BTreeSet<(i64, String)>)>,
}

#[derive(Debug)]
struct Node {
    name: String,
    pods: usize,
    taken: BTreeSet<(i64, String)>,
}

/// The most pods on a node, as a kubelet has it.
const PODS: usize = 110;

impl Placement {
    pub(super) fn new(names: impl IntoIterator<Item = String>) -> Self {
        let nodes = names.into_iter().map(|name| Node { name, pods: 0, taken: BTreeSet::new() }).collect();
        Self { nodes, pods: BTreeMap::new() }
    }

    /// Puts a pod on the first node that has room and its ports free, and names that node.
    pub(super) fn place(&mut self, uid: &str, ports: BTreeSet<(i64, String)>) -> Option<&str> {
        if let Some((node, _)) = self.pods.get(uid) {
            return Some(&self.nodes[*node].name);
        }
        let fits = |node: &Node| node.pods < PODS && node.taken.is_disjoint(&ports);
        let place = self.nodes.iter().position(fits)?;
        self.put(uid, place, ports);
        Some(&self.nodes[place].name)
    }

    /// Notes a pod that is on a node already; whether its ports were free there.
    pub(super) fn note(&mut self, uid: &str, node: &str, ports: BTreeSet<(i64, String)>) -> bool {
        if self.pods.contains_key(uid) {
            return true;
        }
        let Some(place) = self.nodes.iter().position(|known| known.name == node) else { return true };
        let fits = self.nodes[place].taken.is_disjoint(&ports);
        self.put(uid, place, ports);
        fits
    }

    fn put(&mut self, uid: &str, place: usize, ports: BTreeSet<(i64, String)>) {
        let node = &mut self.nodes[place];
        node.pods += 1;
        node.taken.extend(ports.iter().cloned());
        self.pods.insert(uid.to_owned(), (place, ports));
    }

    /// Takes a pod away.
    pub(super) fn remove(&mut self, uid: &str) {
        let Some((place, ports)) = self.pods.remove(uid) else { return };
        let node = &mut self.nodes[place];
        node.pods -= 1;
        for port in &ports {
            node.taken.remove(port);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(number: i64) -> BTreeSet<(i64, String)> {
        [(number, "UDP".to_owned())].into()
    }

    #[test]
    fn a_port_is_given_once_on_a_node() {
        let mut placement = Placement::new(["a".to_owned(), "b".to_owned()]);
        assert_eq!(placement.place("1", port(7)), Some("a"));
        assert_eq!(placement.place("2", port(7)), Some("b"));
        assert_eq!(placement.place("3", port(7)), None);
        assert_eq!(placement.place("3", port(8)), Some("a"));
        placement.remove("1");
        assert_eq!(placement.place("4", port(7)), Some("a"));
        assert!(!placement.note("5", "b", port(7)), "a clash is told");
    }
}
