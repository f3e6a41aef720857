//! What is wrong with a pod's volumes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::names;
use super::super::value::{items, text, text_at};
use crate::schema::FieldError;
use crate::schema::shared::FieldPath;

/// What a source cannot do without.
const NEEDED: [(&str, &str); 5] = [
    ("configMap", "name"),
    ("hostPath", "path"),
    ("nfs", "server"),
    ("persistentVolumeClaim", "claimName"),
    ("secret", "secretName"),
];

/// Checks the volumes, and returns the names of those that are good.
pub(super) fn validate<'a>(
    spec: &'a Value,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) -> BTreeSet<&'a str> {
    let mut good = BTreeSet::new();
    for (index, volume) in items(spec, &["volumes"]).iter().enumerate() {
        let path = path.index(index);
        let before = errors.len();
        validate_source(volume, &path, errors);
        let name = text(volume, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else {
            for problem in names::label(name) {
                errors.push(FieldError::invalid(&path.child("name"), name, problem));
            }
            if good.contains(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
        }
        if errors.len() == before {
            good.insert(name);
        }
    }
    good
}

fn validate_source(volume: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let fields = volume.as_object().into_iter().flatten();
    let sources = fields.filter(|(key, value)| *key != "name" && !value.is_null());
    let mut sources: Vec<_> = sources.map(|(key, _)| key.as_str()).collect();
    // `emptyDir` is looked at first, so that what it meets is the one too many.
    sources.sort_by_key(|source| *source != "emptyDir");
    let Some((first, more)) = sources.split_first() else {
        errors.push(FieldError::required(path, "must specify a volume type"));
        return;
    };
    for source in more {
        let detail = "may not specify more than 1 volume type";
        errors.push(FieldError::forbidden(&path.child(source), detail));
    }
    for (source, field) in NEEDED.iter().filter(|(source, _)| source == first) {
        if text_at(volume, &[source, field]).is_empty() {
            errors.push(FieldError::required(&path.child(source).child(field), ""));
        }
    }
}
