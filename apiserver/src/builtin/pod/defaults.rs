//! What the API gives to pods as defaults.

use serde_json::{Value, json};

use super::super::value::{at, fill, flag, int, items_mut, object_mut, remove, set, text};

/// The permissions of files in volumes: 0644.
const FILE_MODE: i64 = 420;
/// How long a service account's token in a volume is good.
const TOKEN_SECONDS: i64 = 3600;

pub(crate) fn default(pod: &mut Value) {
    if object_mut(pod, "spec").is_none() {
        return;
    }
    let Some(spec) = pod.get_mut("spec") else { return };
    fill(spec, "restartPolicy", "Always");
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "terminationGracePeriodSeconds", 30);
    if int(spec, &["terminationGracePeriodSeconds"]).is_some_and(|seconds| seconds < 0) {
        set(spec, "terminationGracePeriodSeconds", 1);
    }
    fill(spec, "securityContext", json!({}));
    fill(spec, "schedulerName", "default-scheduler");
    fill(spec, "enableServiceLinks", true);
    match text(spec, "serviceAccountName").to_owned() {
        account if account.is_empty() => {
            let older = text(spec, "serviceAccount").to_owned();
            if !older.is_empty() {
                set(spec, "serviceAccountName", older);
            }
        }
        // The older name of the field always says the same.
        account => set(spec, "serviceAccount", account),
    }
    let on_host = flag(spec, &["hostNetwork"]);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in items_mut(spec, &[list]) {
            default_container(container, on_host);
        }
    }
    items_mut(spec, &["volumes"]).for_each(default_volume);
}

fn default_container(container: &mut Value, on_host: bool) {
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    let policy = if is_latest(text(container, "image")) { "Always" } else { "IfNotPresent" };
    fill(container, "imagePullPolicy", policy);
    for port in items_mut(container, &["ports"]) {
        fill(port, "protocol", "TCP");
        if on_host && int(port, &["hostPort"]).unwrap_or_default() == 0 {
            let number = port.get("containerPort").cloned().unwrap_or_else(|| 0.into());
            set(port, "hostPort", number);
        }
    }
    for variable in items_mut(container, &["env"]) {
        default_field_ref(variable.get_mut("valueFrom"));
        let path = variable.pointer_mut("/valueFrom/fileKeyRef");
        if let Some(reference) = path.filter(|reference| reference.is_object()) {
            fill(reference, "optional", false);
        }
    }
    default_requests(container);
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).filter(|probe| probe.is_object()) {
            default_probe(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(hook) = container.get_mut("lifecycle").and_then(|lifecycle| lifecycle.get_mut(hook)) {
            default_http(hook);
        }
    }
}

/// Whether an image has the tag `latest`, or neither tag nor digest.
fn is_latest(image: &str) -> bool {
    if image.is_empty() || image.contains('@') {
        return false;
    }
    // A colon before the last slash is a registry's port.
    let name = image.rsplit('/').next().unwrap_or_default();
    name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

/// What is limited is requested to the limit.
fn default_requests(container: &mut Value) {
    let Some(limits) = at(container, &["resources", "limits"]).and_then(Value::as_object).cloned() else {
        return;
    };
    let Some(resources) = container.get_mut("resources") else { return };
    let Some(requests) = object_mut(resources, "requests") else { return };
    for (name, limit) in limits {
        requests.entry(name).or_insert(limit);
    }
    if requests.is_empty() {
        remove(resources, "requests");
    }
}

fn default_probe(probe: &mut Value) {
    for (field, seconds) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        if int(probe, &[field]).unwrap_or_default() == 0 {
            set(probe, field, seconds);
        }
    }
    default_http(probe);
    if let Some(grpc) = probe.get_mut("grpc").filter(|grpc| grpc.is_object())
        && grpc.get("service").is_none_or(Value::is_null)
    {
        set(grpc, "service", "");
    }
}

fn default_http(handler: &mut Value) {
    if let Some(http) = handler.get_mut("httpGet").filter(|http| http.is_object()) {
        fill(http, "path", "/");
        fill(http, "scheme", "HTTP");
    }
}

fn default_field_ref(source: Option<&mut Value>) {
    let reference = source.and_then(|source| source.get_mut("fieldRef"));
    if let Some(reference) = reference.filter(|reference| reference.is_object()) {
        fill(reference, "apiVersion", "v1");
    }
}

fn default_volume(volume: &mut Value) {
    let Some(fields) = volume.as_object() else { return };
    // A volume without a source is an empty directory.
    if fields.keys().all(|key| key == "name") {
        set(volume, "emptyDir", json!({}));
    }
    for source in ["configMap", "secret", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(source).filter(|source| source.is_object()) {
            fill(source, "defaultMode", FILE_MODE);
        }
    }
    if let Some(path) = volume.get_mut("hostPath").filter(|path| path.is_object())
        && path.get("type").is_none_or(Value::is_null)
    {
        set(path, "type", "");
    }
    for item in items_mut(volume, &["downwardAPI", "items"]) {
        default_field_ref(Some(item));
    }
    for source in items_mut(volume, &["projected", "sources"]) {
        if let Some(token) = source.get_mut("serviceAccountToken").filter(|token| token.is_object()) {
            fill(token, "expirationSeconds", TOKEN_SECONDS);
        }
        for item in items_mut(source, &["downwardAPI", "items"]) {
            default_field_ref(Some(item));
        }
    }
}
