//! Authentication of callers.

use std::error::Error;

use tracing::error;
use ziggurat_layers::bearer::{BearerLayer, Denied, Verify};

use crate::{Principal, Role, Store, Tokens, input::Authenticated, reply::ErrorFormat};

/// Refuses requests without a valid token, and requests of deleted clients and members.
///
/// The store is queried for every request, so that changes hold at once.
pub(super) fn layer(
    store: Store,
    tokens: Tokens,
) -> BearerLayer<
    impl Verify<Identity = Authenticated, Future: Send + 'static> + Clone + Send + Sync + 'static,
    ErrorFormat,
> {
    let verify = move |token: &str| {
        let principal = tokens.read(token);
        let store = store.clone();
        async move {
            let principal = principal.ok_or(Denied::Invalid)?;
            let role = match principal {
                Principal::Client { tenant, client } => store.client_role(tenant, client).await,
                Principal::User { tenant, user } => {
                    let is_member = store.has_member(tenant, user).await;
                    is_member.map(|is_member| is_member.then_some(Role::Admin))
                }
            };
            match role {
                Ok(Some(role)) => Ok(Authenticated { principal, role }),
                Ok(None) => Err(Denied::Invalid),
                Err(error) => {
                    let error: &dyn Error = &error;
                    error!(error, "cannot check a token");
                    Err(Denied::Unavailable)
                }
            }
        }
    };
    BearerLayer::new(verify).with_render(ErrorFormat)
}
