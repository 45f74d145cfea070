//! Cost of recording a request.
//!
//! The peer writes a line of the request and one of the response, and none of a request that is
//! cancelled.

use divan::{AllocProfiler, Bencher};
use tower::Layer as _;
use tower_http::trace::TraceLayer;
use ziggurat_benches::{Bare, measure, peer_layers::log, request, run};
use ziggurat_layers::audit::{AuditLayer, Queue, Record, TracingSink};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    run();
}

#[divan::bench]
fn baseline(bencher: Bencher<'_, '_>) {
    measure(bencher, Bare, request);
}

#[divan::bench]
fn pass(bencher: Bencher<'_, '_>) {
    let layer = AuditLayer::new(drop::<Record>);
    measure(bencher, layer.layer(Bare), request);
}

/// Each request reserves a slot, and its record goes through the queue.
#[divan::bench]
fn pass_required(bencher: Bencher<'_, '_>) {
    let (queue, records) = Queue::bounded(10_000);
    let layer = AuditLayer::new(queue).with_required();
    let writer = std::thread::spawn(move || records.for_each(drop));
    measure(bencher, layer.layer(Bare), request);
    drop(layer);
    writer.join().expect("the writer does not panic");
}

#[divan::bench]
fn refuse(bencher: Bencher<'_, '_>) {
    let (queue, records) = Queue::bounded(1);
    drop(records);
    let layer = AuditLayer::new(queue).with_required();
    measure(bencher, layer.layer(Bare), request);
}

/// The record as one line of a log.
#[divan::bench]
fn pass_logged(bencher: Bencher<'_, '_>) {
    let _log = log();
    measure(bencher, AuditLayer::new(TracingSink).layer(Bare), request);
}

/// The most similar published layer, with the same log.
#[divan::bench]
fn peer_trace(bencher: Bencher<'_, '_>) {
    let _log = log();
    measure(bencher, TraceLayer::new_for_http().layer(Bare), request);
}
