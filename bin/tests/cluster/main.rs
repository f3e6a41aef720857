//! `lariat crds`, `rbac`, `controller` and `nodes` as a platform team runs them: a fleet comes up, is updated and goes away. What
//! happens meanwhile is seen through watches.
//!
//! Against the embedded API server always; against etcd, kube-apiserver and kube-controller-manager, with a fleet of 200, if
//! `KUBEBUILDER_ASSETS` names a folder with them and kubectl. There the controller may do what `lariat rbac` lets it, and no more.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test fails by panicking
#![allow(clippy::print_stdout)] // and says how long things took

mod audit;
mod process;
mod watcher;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use audit::Audit;
use lariat::api::ObjectKey;
use lariat::client::config::Overrides;
use lariat::client::{Api, Client, Config};
use lariat::leaderelection::Lease;
use lariat_controllers::types::{Fleet, Verbatim};
use lariat_fixtures::ControlPlane;
use process::{Process, lariat};
use serde_json::json;
use tokio::time::{Instant, timeout};
use watcher::{Seen, Watcher};

/// How long one step may take on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(240);

const NAMESPACE: &str = "default";

fn client(kubeconfig: &Path) -> Client {
    Client::new(Config::from_kubeconfig_file(kubeconfig, &Overrides::default()).unwrap()).unwrap()
}

fn fleet(replicas: i32) -> Fleet {
    let fleet = json!({
        "apiVersion": "agones.dev/v1", "kind": "Fleet", "metadata": {"name": "simple", "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas, "scheduling": "Packed",
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {"spec": {
                "ports": [{"name": "default", "containerPort": 7654}],
                "template": {"spec": {"containers": [{"name": "game", "image": "example.com/game:1"}]}},
            }},
        },
    });
    serde_json::from_value(fleet).unwrap()
}

/// Others write the fleet, too.
async fn change_fleet(fleets: &Api<Fleet>, change: impl Fn(&mut Fleet)) {
    loop {
        let mut fleet = fleets.get(&ObjectKey::new(NAMESPACE, "simple")).await.unwrap();
        change(&mut fleet);
        match fleets.update(&fleet).await {
            Err(error) if error.is_conflict() => {}
            other => return drop(other.unwrap()),
        }
    }
}

fn with_image(fleet: &mut Fleet, image: &str) {
    let mut template = fleet.spec.template.get().unwrap().clone();
    let mut pod = template.spec.template.get().unwrap().clone();
    pod["spec"]["containers"][0]["image"] = image.into();
    template.spec.template = Verbatim::of(pod).unwrap().into();
    fleet.spec.template = Verbatim::of(template).unwrap().into();
}

async fn step(watcher: &mut Watcher, what: &str, is_done: impl Fn(&Seen) -> bool) {
    let began = Instant::now();
    if timeout(PATIENCE, watcher.until(is_done)).await.is_err() {
        panic!("{what}: not within {PATIENCE:?}: {:?}", watcher.seen());
    }
    println!("{what}: {:.1} s", began.elapsed().as_secs_f64());
}

/// Up, to another image, and down to nothing. `scaled_up` is called when all are ready for the first time, and `updating` when some
/// have the other image.
async fn live_and_die(
    client: Client,
    replicas: i32,
    scaled_up: impl AsyncFnOnce(),
    updating: impl AsyncFnOnce(),
) {
    let servers = usize::try_from(replicas).unwrap();
    let fleets = Api::<Fleet>::namespaced(client.clone(), NAMESPACE);
    let mut watcher = Watcher::begin(client).await;
    fleets.create(&fleet(replicas)).await.unwrap();
    step(&mut watcher, "ready", |seen| {
        seen.in_state("Ready") == servers && seen.fleet_ready == Some(i64::from(replicas))
    })
    .await;
    scaled_up().await;

    watcher.mark();
    change_fleet(&fleets, |fleet| with_image(fleet, "example.com/game:2")).await;
    step(&mut watcher, "updating", |seen| {
        seen.servers.values().any(|server| server.image == "example.com/game:2" && server.is("Ready"))
    })
    .await;
    updating().await;
    step(&mut watcher, "updated", |seen| {
        seen.servers.len() == servers
            && seen.servers.values().all(|server| server.image == "example.com/game:2" && server.is("Ready"))
            && seen.sets == 1
    })
    .await;
    // A quarter of those that are ready may go at once (F-9), while others of those that went are not replaced yet.
    assert!(watcher.seen().fewest_ready >= servers / 2, "{} ready", watcher.seen().fewest_ready);

    change_fleet(&fleets, |fleet| fleet.spec.replicas = 0).await;
    step(&mut watcher, "gone", |seen| {
        seen.servers.is_empty() && seen.pods.is_empty() && seen.fleet_ready == Some(0)
    })
    .await;
    watcher.check();
    let ended = watcher.seen().ended;
    assert!(ended >= 2 * servers, "{ended} servers ended, of {servers} and as many after the update");
}

/// What the original's controller may do is enough, nothing is written over a version that is stale, and few requests are made. When the
/// leader is killed in the middle of the update, another one ends it.
#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_on_a_real_control_plane() {
    let Some(assets) = ControlPlane::assets() else {
        return println!("not run on a real control plane, as KUBEBUILDER_ASSETS is not set");
    };
    const SERVERS: i32 = 200;
    let plane = ControlPlane::start_with(assets, "the-token", &[audit::policy()], &audit::arguments()).await;
    let kubectl = |arguments: &[&str], input: &str| {
        let mut command = Command::new(plane.program("kubectl"));
        command.arg("--kubeconfig").arg(plane.kubeconfig()).args(arguments);
        process::output(&mut command, input)
    };
    let printed = |command: &str| process::output(lariat().arg(command), "");
    kubectl(&["apply", "-f", "-"], &printed("crds"));
    kubectl(&["create", "namespace", "agones-system"], "");
    kubectl(&["apply", "-f", "-"], &printed("rbac"));
    kubectl(&["wait", "crd", "--all", "--for=condition=Established"], "");
    let sdk = "--as=system:serviceaccount:default:agones-sdk";
    assert_eq!(kubectl(&["auth", "can-i", "patch", "gameservers", "-n", "default", sdk], ""), "yes\n");
    let token = kubectl(&["create", "token", "agones-controller", "-n", "agones-system"], "");
    let restricted = plane.folder().join("controller.kubeconfig");
    std::fs::write(&restricted, plane.kubeconfig_of(token.trim()).to_string()).unwrap();

    let admin = client(&plane.kubeconfig());
    // One that was given back, for a Lease that is missing might be held.
    let lease: Lease = serde_json::from_value(json!({
        "metadata": {"name": "agones-controller-lock", "namespace": "agones-system"},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0},
    }))
    .unwrap();
    Api::<Lease>::namespaced(admin.clone(), "agones-system").create(&lease).await.unwrap();

    let start = |command, kubeconfig: &Path, arguments: &[&str], name| {
        Process::start(command, kubeconfig, arguments, (plane.folder(), name))
    };
    let mut nodes = start("nodes", &plane.kubeconfig(), &["--count", "20"], "nodes");
    let arguments = ["--leader-election", "--listen", "127.0.0.1:0"];
    let leader = start("controller", &restricted, &arguments, "leader");
    let account = "system:serviceaccount:agones-system:agones-controller";
    let mut standby = None;
    let scaled_up = async || {
        standby = Some(start("controller", &restricted, &arguments, "standby"));
        let audit = Audit::read(plane.folder(), account);
        println!("{audit}");
        let count = audit.requests();
        let servers = usize::try_from(SERVERS).unwrap();
        assert!(count * 10 <= servers * 85, "{count} requests for {SERVERS} servers:\n{audit}");
        assert_eq!(audit.with_code(409), 0, "{audit}");
    };
    live_and_die(admin, SERVERS, scaled_up, async || drop(leader)).await;
    standby.unwrap().stop().await;
    nodes.stop().await;
    let audit = Audit::read(plane.folder(), account);
    println!("in all: {audit}");
    assert_eq!(audit.with_code(403), 0, "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_on_the_embedded_server() {
    let folder = tempfile::tempdir().unwrap();
    let (kubeconfig, definitions) = (folder.path().join("kubeconfig"), folder.path().join("crds.yaml"));
    std::fs::write(&definitions, process::output(lariat().arg("crds"), "")).unwrap();
    let _server = Process::apiserver(&kubeconfig, &definitions);
    let start = |command, arguments: &[&str]| {
        Process::start(command, &kubeconfig, arguments, (folder.path(), command))
    };
    let mut nodes = start("nodes", &["--count", "5"]);
    let mut controller = start("controller", &["--listen", "127.0.0.1:0"]);
    live_and_die(client(&kubeconfig), 24, async || {}, async || {}).await;
    controller.stop().await;
    nodes.stop().await;
}
