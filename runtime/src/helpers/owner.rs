use lariat_api::{Kind, Metadata, Object, ObjectMeta, OwnerReference};

/// Why an object cannot be owned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnerError {
    /// It has a controller already.
    #[error("{object:?} is controlled by {kind} {name:?} already")]
    Controlled {
        /// The object.
        object: String,
        /// The kind of its controller.
        kind: String,
        /// The name of its controller.
        name: String,
    },
    /// The owner is in another namespace, so it would be taken for gone.
    #[error(
        "owner {owner:?} and object {object:?} are in different namespaces: the object would be collected as garbage"
    )]
    OtherNamespace {
        /// The owner's key.
        owner: String,
        /// The object's key.
        object: String,
    },
    /// The owner was never created.
    #[error("owner {0:?} has no uid: use it as the server returned it")]
    NoUid(String),
}

/// A reference to an owner, which is not the one that controls.
///
/// # Example
///
/// ```
/// use lariat::{DynamicObject, Kind, owner_reference};
///
/// let mut node = DynamicObject::default();
/// node.metadata.name = "a".into();
/// let reference = owner_reference(&Kind::cluster("", "v1", "Node", "nodes"), &node);
/// assert_eq!((reference.kind.as_str(), reference.controller), ("Node", None));
/// ```
pub fn owner_reference<K: Object>(kind: &Kind, owner: &K) -> OwnerReference {
    OwnerReference {
        api_version: kind.api_version().into_owned(),
        kind: kind.kind().to_owned(),
        name: owner.name().to_owned(),
        uid: owner.uid().to_owned(),
        controller: None,
        block_owner_deletion: None,
    }
}

/// Makes an owner the one that controls an object: a controller that [owns](crate::Controller::owns) such objects hears of it, and it
/// goes away with its owner. A reference to the same owner is replaced.
///
/// # Errors
///
/// If another one controls it, or it cannot be owned.
///
/// # Example
///
/// ```
/// use lariat::{DynamicObject, Kind, set_controller_reference};
///
/// let (mut node, mut map) = (DynamicObject::default(), DynamicObject::default());
/// node.metadata.name = "a".into();
/// node.metadata.uid = "1".into();
/// set_controller_reference(&Kind::cluster("", "v1", "Node", "nodes"), &node, &mut map.metadata)?;
/// assert_eq!(map.metadata.owner_references[0].controller, Some(true));
/// # Ok::<(), lariat::OwnerError>(())
/// ```
pub fn set_controller_reference<K: Object>(
    kind: &Kind,
    owner: &K,
    object: &mut ObjectMeta,
) -> Result<(), OwnerError> {
    if owner.uid().is_empty() {
        return Err(OwnerError::NoUid(owner.name().to_owned()));
    }
    if kind.is_namespaced() && owner.namespace() != object.namespace() {
        return Err(OwnerError::OtherNamespace {
            owner: format!("{}/{}", owner.namespace(), owner.name()),
            object: format!("{}/{}", object.namespace(), object.name()),
        });
    }
    let controller = object.owner_references.iter().find(|reference| reference.controller == Some(true));
    if let Some(other) = controller.filter(|reference| reference.uid != owner.uid()) {
        return Err(OwnerError::Controlled {
            object: object.name().to_owned(),
            kind: other.kind.clone(),
            name: other.name.clone(),
        });
    }
    let reference = OwnerReference {
        controller: Some(true),
        block_owner_deletion: Some(true),
        ..owner_reference(kind, owner)
    };
    match object.owner_references.iter().position(|known| known.uid == reference.uid) {
        Some(at) if object.owner_references[at] == reference => {}
        Some(at) => object.owner_references[at] = reference,
        None => object.owner_references.push(reference),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use lariat_api::DynamicObject;

    use super::*;

    const SHOPS: Kind = Kind::namespaced("example.dev", "v1", "Shop", "shops");

    fn object(namespace: &str, uid: &str) -> DynamicObject {
        let mut object = DynamicObject::default();
        object.metadata.name = "a".into();
        object.metadata.namespace = namespace.into();
        object.metadata.uid = uid.into();
        object
    }

    /// CR-13: one controller, in the same namespace or in none; set again it stays one.
    #[test]
    fn an_object_has_one_controller() {
        let (shop, mut map) = (object("n", "1"), object("n", ""));
        for _ in 0..2 {
            set_controller_reference(&SHOPS, &shop, &mut map.metadata).unwrap();
            assert_eq!(map.metadata.owner_references.len(), 1);
        }
        let other = set_controller_reference(&SHOPS, &object("n", "2"), &mut map.metadata);
        assert!(matches!(other, Err(OwnerError::Controlled { .. })));
        let far = set_controller_reference(&SHOPS, &object("m", "1"), &mut object("n", "").metadata);
        assert!(matches!(far, Err(OwnerError::OtherNamespace { .. })));
        let new = set_controller_reference(&SHOPS, &object("n", ""), &mut object("n", "").metadata);
        assert!(matches!(new, Err(OwnerError::NoUid(_))));
    }
}
