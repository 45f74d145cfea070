//! Cost of receipts: the payload, a signature that receipts share, and the digest of a text.

use divan::{AllocProfiler, Bencher, black_box, counter::BytesCount};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
};
use ziggurat_benches::run;
use ziggurat_receipts::{EscapedText, Keys, Payload, Receipt, Signer, SigningKey};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    run();
}

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime")
}

/// Returns a signer with a task that runs.
fn signer(tasks: &mut JoinSet<()>, runtime: &Runtime) -> (Signer, Keys) {
    let (key, _) = SigningKey::generate().expect("a key");
    let keys = Keys::new(key, &[]);
    let (signer, task) = Signer::new(keys.clone());
    tasks.spawn_on(task.run(), runtime.handle());
    (signer, keys)
}

async fn signed(signer: &Signer, count: usize) -> Vec<Receipt> {
    let payloads = (0..count).map(|_| signer.sign(Payload::default().encode()));
    let receipts = futures_util::future::join_all(payloads).await;
    receipts.into_iter().flatten().collect()
}

/// Signs as many receipts as there are callers at the same time.
#[divan::bench(args = [1, 8, 64, 1000])]
fn sign(bencher: Bencher<'_, '_>, count: usize) {
    let runtime = runtime();
    let mut tasks = JoinSet::new();
    let (signer, _) = signer(&mut tasks, &runtime);
    bencher
        .counter(count)
        .bench_local(|| runtime.block_on(signed(&signer, count)));
}

#[divan::bench]
fn verify(bencher: Bencher<'_, '_>) {
    let runtime = runtime();
    let mut tasks = JoinSet::new();
    let (signer, keys) = signer(&mut tasks, &runtime);
    let receipts = runtime.block_on(signed(&signer, 64));
    let public = keys.public();
    bencher.bench_local(|| black_box(&receipts[7]).verify(&public).is_ok());
}

/// The text of 100 rows, escaped as it is sent.
#[divan::bench]
fn text(bencher: Bencher<'_, '_>) {
    let text = r"17\tBook\t2024-01-31T12:34:56Z\t19.90\n".repeat(100);
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| {
        let mut digest = EscapedText::default();
        digest.push(black_box(text.as_bytes()));
        digest.finish()
    });
}
