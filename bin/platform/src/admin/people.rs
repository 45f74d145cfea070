//! Commands for people: their accounts, and the programs they allowed to act for them.

use anyhow::{Context as _, bail};
use secrecy::ExposeSecret as _;
use serde_json::json;
use ziggurat_account_service::{Grants, Id, Owner};
use ziggurat_mcp_auth::Store as _;
use ziggurat_runtime::flags::Flags;

use crate::{
    admin::secrets::{Destination, to_json},
    configuration::Configuration,
    services::Services,
};

/// Lists the grants for a tenant.
pub(super) async fn list_grants(tenant: Id, services: &Services) -> anyhow::Result<String> {
    Ok(to_json(&grants(services)?.of_tenant(tenant).await?))
}

/// Ends a grant for a tenant.
pub(super) async fn revoke_grant(
    tenant: Id,
    id: &str,
    services: &Services,
) -> anyhow::Result<String> {
    grants(services)?.end(id, None, Some(tenant)).await?;
    Ok(String::new())
}

/// Creates a member, and an address to set a password at.
pub(super) async fn create_user(
    tenant: Id,
    flags: &Flags,
    configuration: &Configuration,
    services: &Services,
) -> anyhow::Result<String> {
    grants(services)?;
    let destination = Destination::of(flags)?;
    let person = Owner {
        email: flags.owned("email").unwrap_or_default(),
        first_name: flags.owned("first-name"),
        last_name: flags.owned("last-name"),
    };
    let member = services.store.add_member(tenant, &person).await?;
    let mut made = json!(member);
    made["reset_url"] = reset_url(&member.user_email, configuration, services)
        .await?
        .into();
    destination.write(&made)
}

/// Makes an address to set a new password at.
pub(super) async fn reset(
    flags: &Flags,
    configuration: &Configuration,
    services: &Services,
) -> anyhow::Result<String> {
    grants(services)?;
    let destination = Destination::of(flags)?;
    let email = flags.text("email").unwrap_or_default();
    let url = reset_url(email, configuration, services).await?;
    destination.write(&json!({"reset_url": url, "expires_in": 86_400}))
}

/// Disables or enables a user. The grants of a disabled one end.
pub(super) async fn disable(
    flags: &Flags,
    is_disabled: bool,
    services: &Services,
) -> anyhow::Result<String> {
    let email = flags.text("email").unwrap_or_default();
    let user = services.store.disable_user(email, is_disabled).await?;
    if is_disabled && let Ok(grants) = grants(services) {
        grants.end_all(Some(user), None).await?;
    }
    Ok(String::new())
}

/// Removes the second factor of a user.
pub(super) async fn reset_second_factor(
    flags: &Flags,
    services: &Services,
) -> anyhow::Result<String> {
    let email = flags.text("email").unwrap_or_default();
    let user = services.store.user_of(email).await?.to_string();
    let Some(sign_in) = &services.sign_in else {
        bail!(OFF);
    };
    let removed = sign_in.remove_factor(&user).await;
    if !removed.context("the store of the sign-in cannot be used")? {
        bail!("{email} has no second factor");
    }
    Ok(String::new())
}

/// Sets the groups and the roles of a member.
pub(super) async fn update_member(
    tenant: Id,
    id: Id,
    flags: &Flags,
    services: &Services,
) -> anyhow::Result<String> {
    let list = |name| {
        let text = flags.text(name)?;
        let words = text.split(',').map(str::trim);
        let words = words.filter(|word| !word.is_empty());
        Some(words.map(str::to_owned).collect())
    };
    let (groups, roles) = (list("groups"), list("roles"));
    services.store.set_claims(tenant, id, groups, roles).await?;
    Ok(String::new())
}

/// Removes a member, and ends the grants for the tenant.
pub(super) async fn delete_member(
    tenant: Id,
    id: Id,
    services: &Services,
) -> anyhow::Result<String> {
    let user = services.store.delete_membership(tenant, id).await?;
    if let Ok(grants) = grants(services) {
        grants.end_all(Some(user), Some(tenant)).await?;
    }
    Ok(String::new())
}

/// Deletes a tenant, and ends its grants.
pub(super) async fn delete_tenant(id: Id, services: &Services) -> anyhow::Result<String> {
    services.store.delete_tenant(id).await?;
    if let Ok(grants) = grants(services) {
        grants.end_all(None, Some(id)).await?;
    }
    Ok(String::new())
}

const OFF: &str = "people do not sign in here: set sign_in.enabled";

fn grants(services: &Services) -> anyhow::Result<Grants> {
    let sign_in = services.sign_in.clone().context(OFF)?;
    Ok(Grants::new(services.store.clone(), sign_in))
}

async fn reset_url(
    email: &str,
    configuration: &Configuration,
    services: &Services,
) -> anyhow::Result<String> {
    let (_, token) = services.store.new_reset(email).await?;
    let base = configuration.server.url();
    let token = token.expose_secret();
    Ok(format!("{base}/oauth/reset?token={token}"))
}
