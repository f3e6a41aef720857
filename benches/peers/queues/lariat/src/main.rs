//! Prints nanoseconds.
#[path = "../../../../src/queue.rs"]
mod queue;
fn main() {
    let mut args = std::env::args().skip(1);
    let only = args.next().unwrap_or_default();
    let n: u64 = args.next().map_or(200_000, |n| n.parse().unwrap());
    let rounds: u64 = args.next().map_or(5, |n| n.parse().unwrap());
    for shape in queue::SHAPES.iter().filter(|s| s.name.starts_with(&only)) {
        let best = (0..rounds).map(|_| (shape.run)(n)).min().unwrap();
        println!("{:24} {:8.1}", shape.name, best.as_nanos() as f64 / n as f64);
    }
}
