//! Commands for people: their accounts, and the programs they allowed to act for them.

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use serde_json::json;
use ziggurat_account_service::{Grants, Id, Owner};
use ziggurat_mcp_auth::{Origin, Seconds, Store as _};
use ziggurat_runtime::flags::Flags;
use ziggurat_sign_in_state::SignInStore;

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
    let removed = sign_in(services)?.remove_factor(&user).await;
    if !removed.context("the store of the sign-in cannot be used")? {
        bail!("{email} has no second factor");
    }
    Ok(String::new())
}

/// Lets a user sign in with an account at another provider.
pub(super) async fn link(
    flags: &Flags,
    configuration: &Configuration,
    services: &Services,
) -> anyhow::Result<String> {
    let sign_in = sign_in(services)?;
    let [email, provider, subject] =
        ["email", "provider", "subject"].map(|name| flags.text(name).unwrap_or_default());
    let settings = configuration.sign_in.as_ref().context(OFF)?;
    if !settings.section.provider_names().any(|it| it == provider) {
        bail!("sign_in has no provider '{provider}'");
    }
    if subject.is_empty() {
        bail!("-subject is empty");
    }
    let user = services.store.user_of(email).await?;
    let origin = Origin {
        provider: provider.to_owned(),
        subject: subject.to_owned(),
    };
    let person = user.to_string();
    sign_in.link_person(&origin, &person, now()).await?;
    Ok(to_json(&json!({
        "provider": provider,
        "subject": subject,
        "user_id": user,
    })))
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

/// Ends all grants and all sessions of browsers, if people sign in here.
pub(super) async fn end_all(services: &Services) -> anyhow::Result<()> {
    if let Some(sign_in) = &services.sign_in {
        sign_in.end_all(now()).await?;
    }
    Ok(())
}

const OFF: &str = "people do not sign in here: set sign_in.enabled";

/// Returns the store of the sign-in, if people sign in here.
pub(super) fn sign_in(services: &Services) -> anyhow::Result<&SignInStore> {
    services.sign_in.as_ref().context(OFF)
}

pub(super) fn now() -> Seconds {
    let now = Timestamp::now().as_second();
    now.try_into().unwrap_or_default()
}

fn grants(services: &Services) -> anyhow::Result<Grants> {
    let sign_in = sign_in(services)?.clone();
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
