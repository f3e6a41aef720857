//! The work queue, in the shapes of client-go's own benchmarks.

#![allow(missing_docs)] // the macros of criterion make functions

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lariat_benches::queue::SHAPES;

fn shapes(c: &mut Criterion) {
    let mut group = c.benchmark_group("workqueue");
    group.throughput(Throughput::Elements(1)).sample_size(20);
    for shape in SHAPES {
        group.bench_function(BenchmarkId::from_parameter(shape.name), |b| b.iter_custom(shape.run));
    }
    group.finish();
}

criterion_group!(benches, shapes);
criterion_main!(benches);
