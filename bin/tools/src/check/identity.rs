//! The identity of a caller that an operator names.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use ziggurat_accounts::UserFile;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_tokens::{Claims, Holder, Identity, TokenFile};

use crate::{arguments::CallerName, configuration::Auth};

/// Returns the identity that a request of the caller has; none of the local user.
///
/// # Errors
/// Fails if no request of this caller can be admitted.
pub(crate) fn identity(caller: &CallerName, auth: &Auth) -> anyhow::Result<Option<Identity>> {
    let (holder, claims) = match caller {
        CallerName::Local => return Ok(None),
        _ if !auth.is_enabled => {
            bail!("authentication is off, so every caller is local");
        }
        CallerName::Token(id) => return program(caller, id, auth).map(Some),
        CallerName::User(name) => user(name, auth)?,
        CallerName::Client(name, scopes) => (client(name, scopes, auth)?, Claims::default()),
    };
    Ok(Some(
        Identity::new(digest(caller), holder).with_claims(claims),
    ))
}

/// Returns a digest in place of the one of a token. Two callers never share a session.
fn digest(caller: &CallerName) -> TokenHash {
    TokenHash::of(&caller.to_string())
}

fn program(caller: &CallerName, id: &str, auth: &Auth) -> anyhow::Result<Identity> {
    let tokens = TokenFile::new(&auth.token_file).list()?;
    let token = tokens.into_iter().find(|token| token.id == id);
    let token = token.with_context(|| format!("no API token has the id {id}"))?;
    if token.expires_at.is_some_and(|end| end <= Timestamp::now()) {
        bail!("the API token has expired");
    }
    let holder = Holder::Program {
        id: token.id.into(),
        database: token.database.map(Arc::from),
    };
    let identity = Identity::new(digest(caller), holder);
    Ok(identity
        .with_claims(token.claims)
        .with_toolsets(token.toolsets))
}

fn user(name: &str, auth: &Auth) -> anyhow::Result<(Holder, Claims)> {
    let users = UserFile::new(&auth.user_file).list()?;
    let user = users.into_iter().find(|user| user.name == name);
    let user = user.with_context(|| format!("no user is named {name}"))?;
    if !user.is_enabled {
        bail!("the account is locked");
    }
    let holder = Holder::User {
        name: user.name.into(),
        databases: user.databases.into(),
    };
    Ok((holder, user.claims))
}

fn client(name: &str, scopes: &[String], auth: &Auth) -> anyhow::Result<Holder> {
    let issuer = auth.issuer.as_ref();
    let issuer = issuer.context("there is no http.auth.issuer")?;
    let mut missing = issuer.scopes.iter().filter(|scope| !scopes.contains(scope));
    if let Some(scope) = missing.next() {
        bail!("its tokens need the scope {scope}");
    }
    Ok(Holder::Client {
        subject: name.into(),
        client: Some(name.into()),
        tenant: None,
        scopes: scopes.into(),
        databases: auth.issuer_databases.clone().into(),
    })
}
