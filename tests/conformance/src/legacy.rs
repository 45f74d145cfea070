//! Legacy methods that the product does not have.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context as Wake, Poll},
};

use futures_util::future::Either;
use tower_layer::Layer;
use tower_service::Service;
use ziggurat_layers::json_rpc::{Call, Error, Json, Reply};
use ziggurat_mcp::protocol::Context;

const METHODS: [&str; 3] = [
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Answers these methods with empty results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LegacyLayer;

/// Service made by [`LegacyLayer`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Legacy<S>(S);

impl<S> Layer<S> for LegacyLayer {
    type Service = Legacy<S>;

    fn layer(&self, inner: S) -> Legacy<S> {
        Legacy(inner)
    }
}

impl<S, T> Service<Call> for Legacy<S>
where
    S: Service<Call, Response = Reply<T>, Error = Infallible>,
{
    type Response = Reply<T>;
    type Error = Infallible;
    type Future = Either<Ready<Result<Reply<T>, Infallible>>, S::Future>;

    fn poll_ready(&mut self, cx: &mut Wake<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let context = call.head().extensions.get::<Context>();
        let is_legacy = context.is_some_and(|context| !context.revision().is_modern());
        if is_legacy && METHODS.contains(&call.method()) {
            let nothing = Json::new(&serde_json::Map::new()).map_err(|_| Error::internal_error());
            return Either::Left(ready(Ok(nothing.into())));
        }
        Either::Right(self.0.call(call))
    }
}
