//! Cost of verifying an access token, signed with RS256.
//!
//! The peer verifies the signature for each request.

use divan::{AllocProfiler, Bencher};
use tower::Layer as _;
use ziggurat_benches::{
    Bare,
    issuer::{access_tokens, peer, with_forged_token, with_new_token, with_token},
    measure, run,
};
use ziggurat_layers::bearer::BearerLayer;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    run();
}

#[divan::bench]
fn baseline(bencher: Bencher<'_, '_>) {
    measure(bencher, Bare, with_token);
}

/// The token was verified before.
#[divan::bench]
fn pass_remembered(bencher: Bencher<'_, '_>) {
    let layer = BearerLayer::new(access_tokens(10_000));
    measure(bencher, layer.layer(Bare), with_token);
}

/// No token is remembered until it comes again.
#[divan::bench]
fn pass_first(bencher: Bencher<'_, '_>) {
    let layer = BearerLayer::new(access_tokens(1));
    measure(bencher, layer.layer(Bare), with_new_token);
}

#[divan::bench]
fn refuse_forged(bencher: Bencher<'_, '_>) {
    let layer = BearerLayer::new(access_tokens(10_000));
    measure(bencher, layer.layer(Bare), with_forged_token);
}

/// The most similar published layer.
#[divan::bench]
fn peer_oauth2_resource_server(bencher: Bencher<'_, '_>) {
    measure(bencher, peer().layer(Bare), with_token);
}

#[divan::bench]
fn peer_oauth2_resource_server_refuse(bencher: Bencher<'_, '_>) {
    measure(bencher, peer().layer(Bare), with_forged_token);
}
