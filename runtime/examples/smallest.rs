//! Says hello to namespaces until Ctrl-C: `cargo run -p lariat --example smallest`.

#![allow(clippy::print_stdout)] // it speaks

use lariat::prelude::*;
use lariat::testing::TestCluster;

pub(crate) const NAMESPACES: Kind = Kind::cluster("", "v1", "Namespace", "namespaces");

pub(crate) async fn hello(
    key: ObjectKey,
    object: Option<Arc<DynamicObject>>,
    _: Context,
) -> Result<Outcome, Failure> {
    println!("{} {key}", if object.is_some() { "hello" } else { "goodbye" });
    Ok(Outcome::Done)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = TestCluster::new(); // or Client::new(Config::infer()?)? in place of cluster.client()
    let manager = Manager::new(cluster.client());
    manager.add(Controller::of_kind("hello", NAMESPACES).reconcile(hello))?;
    manager.run(signals()?).await?;
    Ok(())
}
