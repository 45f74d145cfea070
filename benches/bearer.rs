//! What checking a bearer token costs.

use std::future::{Ready, ready};

use divan::{AllocProfiler, Bencher};
use http::{Request, Response, StatusCode};
use tower::Layer as _;
use tower_http::auth::{AsyncAuthorizeRequest, AsyncRequireAuthorizationLayer};
use ziggurat_benches::{Bare, Body, TOKEN, measure, now, request, run};
use ziggurat_layers::bearer::{BearerLayer, Hashed, TokenHash, Verify as _};

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
    measure(bencher, BearerLayer::new(tokens()).layer(Bare), request);
}

/// With an identity that has a size: its box in the request extensions is the allocation.
#[divan::bench]
fn pass_with_identity(bencher: Bencher<'_, '_>) {
    let tokens = Hashed::from_iter([(TokenHash::of(TOKEN), 7_u64)]);
    measure(bencher, BearerLayer::new(tokens).layer(Bare), request);
}

#[divan::bench]
fn pass_exempt(bencher: Bencher<'_, '_>) {
    let layer = BearerLayer::new(tokens()).with_exempt(["/health", "/mcp/*"]);
    measure(bencher, layer.layer(Bare), request);
}

#[divan::bench]
fn refuse(bencher: Bencher<'_, '_>) {
    let nobody = Hashed::<()>::default();
    measure(bencher, BearerLayer::new(nobody).layer(Bare), request);
}

/// The nearest published layer, doing the same check.
#[divan::bench]
fn peer_async_require_authorization(bencher: Bencher<'_, '_>) {
    let layer = AsyncRequireAuthorizationLayer::new(ByHash(tokens()));
    measure(bencher, layer.layer(Bare), request);
}

#[divan::bench]
fn peer_async_require_authorization_refuse(bencher: Bencher<'_, '_>) {
    let layer = AsyncRequireAuthorizationLayer::new(ByHash(Hashed::default()));
    measure(bencher, layer.layer(Bare), request);
}

fn tokens() -> Hashed<()> {
    Hashed::from_iter([(TokenHash::of(TOKEN), ())])
}

/// Reads the header as simply as can be, then looks the digest up like ours.
#[derive(Clone)]
struct ByHash(Hashed<()>);

impl AsyncAuthorizeRequest<Body> for ByHash {
    type RequestBody = Body;
    type ResponseBody = Body;
    type Future = Ready<Result<Request<Body>, Response<Body>>>;

    fn authorize(&mut self, mut request: Request<Body>) -> Self::Future {
        let header = request.headers().get("authorization");
        let token = header
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let verdict = token.map(|token| now(self.0.verify(token)));
        ready(if let Some(Ok(identity)) = verdict {
            request.extensions_mut().insert(identity);
            Ok(request)
        } else {
            let mut response = Response::new(Body::default());
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            Err(response)
        })
    }
}
