//! Commands for the programs that people connect.

use anyhow::bail;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use ziggurat_account_service::UnixTime;
use ziggurat_runtime::flags::Flags;
use ziggurat_sign_in_state::{ListedClient, NewClient};

use crate::{
    admin::{
        people::{now, sign_in},
        secrets::{Destination, to_json},
    },
    services::Services,
};

/// Lists the programs of the store. The configuration and the pinned documents may have more.
pub(super) async fn list(services: &Services) -> anyhow::Result<String> {
    let clients = sign_in(services)?.list_clients().await?;
    Ok(to_json(&clients.iter().map(shown).collect::<Vec<_>>()))
}

/// Registers a program.
pub(super) async fn create(flags: &Flags, services: &Services) -> anyhow::Result<String> {
    let store = sign_in(services)?;
    let name = flags.owned("name").unwrap_or_default();
    if name.trim().is_empty() {
        bail!("-name is empty");
    }
    let redirect_uris = flags.texts("redirect-uri").map(str::to_owned).collect();
    let new = NewClient::new(name, redirect_uris, flags.has("secret"))?;
    let destination = Destination::of(flags)?;
    store.add_manual_client(&new.client, now()).await?;
    let mut made = json!({
        "client_id": new.client.id,
        "name": new.client.name,
        "redirect_uris": new.client.redirect_uris,
    });
    if let Some(secret) = new.secret {
        made["client_secret"] = secret.expose_secret().into();
    }
    destination.write(&made)
}

/// Removes a program, and ends its grants.
pub(super) async fn delete(id: &str, services: &Services) -> anyhow::Result<String> {
    if !sign_in(services)?.remove_client(id, now()).await? {
        bail!("there is no app '{id}'");
    }
    Ok(String::new())
}

fn shown(client: &ListedClient) -> Value {
    let [made_at, used_at] = [client.made_at, client.used_at]
        .map(|at| UnixTime::from_seconds(at.try_into().unwrap_or(i64::MAX)));
    json!({
        "client_id": client.id,
        "created_at": made_at,
        "has_secret": client.has_secret,
        "kind": client.kind,
        "name": client.name,
        "redirect_uris": client.redirect_uris,
        "used_at": used_at,
    })
}
