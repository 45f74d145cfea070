//! Who may come in.

use std::error::Error;

use tracing::error;
use ziggurat_layers::bearer::{BearerLayer, Denied, Verify};

use super::{Principal, Store, Tokens, reply::Coded};

/// Refuses requests without a token of ours, and those of clients and members who are gone.
///
/// The store is asked each time, so that nobody has to be told of a change.
pub(super) fn layer(
    store: Store,
    tokens: Tokens,
) -> BearerLayer<
    impl Verify<Identity = Principal, Future: Send + 'static> + Clone + Send + Sync + 'static,
    Coded,
> {
    let verify = move |token: &str| {
        let principal = tokens.read(token);
        let store = store.clone();
        async move {
            let principal = principal.ok_or(Denied::Invalid)?;
            let is_there = match principal {
                Principal::Client { tenant, client } => store.has_client(tenant, client).await,
                Principal::User { tenant, user } => store.has_member(tenant, user).await,
            };
            match is_there {
                Ok(true) => Ok(principal),
                Ok(false) => Err(Denied::Invalid),
                Err(trouble) => {
                    let error: &dyn Error = &trouble;
                    error!(error, "a token could not be checked");
                    Err(Denied::Unavailable)
                }
            }
        }
    };
    BearerLayer::new(verify).with_render(Coded)
}
