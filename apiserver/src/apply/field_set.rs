use std::collections::{BTreeMap, BTreeSet};

use super::path::PathElement;
use super::value::MAX_DEPTH;

/// A set of fields of an object: what a manager owns.
///
/// A path in the set says nothing about the paths below it: owning `spec` is not owning `spec.replicas`.
///
/// # Example
///
/// ```
/// use lariat_apiserver::apply::FieldSet;
/// use serde_json::json;
///
/// let fields = json!({"f:data": {".": {}, "f:v": {}}});
/// let set = FieldSet::from_fields_v1(&fields).unwrap();
/// assert!(set.has_fields(&["data"]) && set.has_fields(&["data", "v"]));
/// assert_eq!(set.to_fields_v1(), fields);
/// let rest = set.difference(&FieldSet::of_fields(&[&["data"]]));
/// assert_eq!(rest.to_fields_v1(), json!({"f:data": {"f:v": {}}}));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    members: BTreeSet<PathElement>,
    /// Never holds an empty set.
    children: BTreeMap<PathElement, Self>,
}

impl FieldSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of these paths, each made of field names.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(&path.iter().map(|name| PathElement::field(*name)).collect::<Vec<_>>());
        }
        set
    }

    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    /// How many paths are in the set.
    pub fn len(&self) -> usize {
        self.members.len() + self.children.values().map(Self::len).sum::<usize>()
    }

    /// Adds a path. The empty path is never a member, and of a path longer than [`MAX_DEPTH`] the part that fits is added.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((last, parents)) = path[..path.len().min(MAX_DEPTH)].split_last() else { return };
        let mut set = self;
        for element in parents {
            set = set.children.entry(element.clone()).or_default();
        }
        set.members.insert(last.clone());
    }

    /// Whether a path is in the set.
    pub fn has(&self, path: &[PathElement]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let parent = parents.iter().try_fold(self, |set, element| set.children.get(element));
        parent.is_some_and(|set| set.members.contains(last))
    }

    /// Whether a path made of field names is in the set.
    pub fn has_fields(&self, path: &[&str]) -> bool {
        self.has(&path.iter().map(|name| PathElement::field(*name)).collect::<Vec<_>>())
    }

    /// The part of the set below one step.
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.children.get(element)
    }

    /// What is in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let members = self.members.union(&other.members).cloned().collect();
        let mut children = self.children.clone();
        for (element, theirs) in &other.children {
            let ours = children.entry(element.clone()).or_default();
            *ours = ours.union(theirs);
        }
        Self { members, children }
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let members = self.members.intersection(&other.members).cloned().collect();
        let children = self.children.iter().filter_map(|(element, ours)| {
            Some((element.clone(), ours.intersection(other.children.get(element)?)))
        });
        Self { members, children: children.filter(|(_, set)| !set.is_empty()).collect() }
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let members = self.members.difference(&other.members).cloned().collect();
        let children = self.children.iter().map(|(element, ours)| {
            let rest =
                other.children.get(element).map_or_else(|| ours.clone(), |theirs| ours.difference(theirs));
            (element.clone(), rest)
        });
        Self { members, children: children.filter(|(_, set)| !set.is_empty()).collect() }
    }

    /// What is in this set, and neither in the other nor below one of its paths.
    #[must_use]
    pub fn difference_below(&self, other: &Self) -> Self {
        let members = self.members.difference(&other.members).cloned().collect();
        let children = self.children.iter().filter(|(element, _)| !other.members.contains(element));
        let children = children.map(|(element, ours)| {
            let rest =
                other.children.get(element).map_or_else(|| ours.clone(), |them| ours.difference_below(them));
            (element.clone(), rest)
        });
        Self { members, children: children.filter(|(_, set)| !set.is_empty()).collect() }
    }

    /// Every path of the set: those of one level before those below it.
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut found = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut found);
        found
    }

    pub(crate) fn members(&self) -> &BTreeSet<PathElement> {
        &self.members
    }

    pub(crate) fn children(&self) -> &BTreeMap<PathElement, Self> {
        &self.children
    }

    pub(crate) fn insert_member(&mut self, element: PathElement) {
        self.members.insert(element);
    }

    pub(crate) fn insert_child(&mut self, element: PathElement, child: Self) {
        if !child.is_empty() {
            self.children.insert(element, child);
        }
    }

    fn collect_paths(&self, path: &mut Vec<PathElement>, found: &mut Vec<Vec<PathElement>>) {
        for member in &self.members {
            path.push(member.clone());
            found.push(path.clone());
            path.pop();
        }
        for (element, child) in &self.children {
            path.push(element.clone());
            child.collect_paths(path, found);
            path.pop();
        }
    }
}
