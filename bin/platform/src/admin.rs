//! Commands of administrators, which use the store directly and need no server.

mod apps;
mod people;
mod secrets;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use ziggurat_account_service::{
    ApiClient, ClientDraft, Id, InviteDraft, Owner, Role, Store, TenantDraft, Tokens,
};
use ziggurat_runtime::{duration, file, flags::Flags};
use ziggurat_telemetry::Metrics;
use ziggurat_tokens::WallClock;

use self::secrets::{Destination, to_json};
use crate::{
    arguments::{Arguments, Task},
    configuration::Configuration,
    services::Services,
};

/// Maximum size of a file with the token of an invitation.
const MAX_TOKEN: u64 = 4096;

/// Runs a command and returns its result as text.
///
/// # Errors
/// Fails if the command fails; the message is for the administrator.
pub(crate) async fn run(
    arguments: &Arguments,
    configuration: &Configuration,
) -> anyhow::Result<String> {
    let services = Services::open(configuration, &Metrics::off()).await?;
    let outcome = act(arguments, configuration, &services).await;
    services.close().await;
    outcome
}

async fn act(
    arguments: &Arguments,
    configuration: &Configuration,
    services: &Services,
) -> anyhow::Result<String> {
    let (flags, store) = (&arguments.flags, &services.store);
    let (tenant, id) = (|| tenant(flags, store), || about(arguments));
    match arguments.task {
        Task::Init => return init(flags, configuration, store).await,
        Task::ListTenants => return Ok(to_json(&store.tenants().await?)),
        Task::CreateTenant => return create_tenant(flags, store).await,
        Task::DeleteTenant => return people::delete_tenant(id()?, services).await,
        Task::AcceptInvite => return accept(arguments, store).await,
        Task::RotateKey => {
            let kept = if flags.has("revoke") {
                0
            } else {
                configuration.key_lifetime().as_secs().try_into()?
            };
            services.keys.rotate(Timestamp::now(), kept)?;
            if kept == 0 {
                people::end_all(services).await?;
            }
            return Ok(to_json(&services.keys.document()));
        }
        Task::ListClients => {
            let clients = store.clients(tenant().await?).await?;
            return Ok(to_json(&clients.iter().map(shown).collect::<Vec<_>>()));
        }
        Task::ListInvites => return Ok(to_json(&store.invites(tenant().await?).await?)),
        Task::ListMembers => return Ok(to_json(&store.memberships(tenant().await?).await?)),
        Task::CreateClient => return create_client(tenant().await?, flags, store).await,
        Task::CreateInvite => return invite(tenant().await?, flags, configuration, store).await,
        Task::UserToken => {
            return user_token(tenant().await?, flags, configuration, services).await;
        }
        Task::DeleteMember => {
            return people::delete_member(tenant().await?, id()?, services).await;
        }
        Task::UpdateMember => {
            return people::update_member(tenant().await?, id()?, flags, services).await;
        }
        Task::DeleteClient => store.delete_client(tenant().await?, id()?).await?,
        Task::DeleteInvite => store.delete_invite(tenant().await?, id()?).await?,
        Task::MakeOwner => store.make_owner(tenant().await?, id()?).await?,
        _ => return act_on_sign_in(arguments, configuration, services).await,
    }
    Ok(String::new())
}

/// Runs a command for the people who sign in, and for their programs.
async fn act_on_sign_in(
    arguments: &Arguments,
    configuration: &Configuration,
    services: &Services,
) -> anyhow::Result<String> {
    let flags = &arguments.flags;
    let tenant = || tenant(flags, &services.store);
    let id = arguments.about.as_deref().unwrap_or_default();
    match arguments.task {
        Task::CreateUser => {
            people::create_user(tenant().await?, flags, configuration, services).await
        }
        Task::DisableUser => people::disable(flags, true, services).await,
        Task::EnableUser => people::disable(flags, false, services).await,
        Task::ResetUser => people::reset(flags, configuration, services).await,
        Task::ResetSecondFactor => people::reset_second_factor(flags, services).await,
        Task::LinkUser => people::link(flags, configuration, services).await,
        Task::ListApps => apps::list(services).await,
        Task::CreateApp => apps::create(flags, services).await,
        Task::DeleteApp => apps::delete(id, services).await,
        Task::ListGrants => people::list_grants(tenant().await?, services).await,
        Task::RevokeGrant => people::revoke_grant(tenant().await?, id, services).await,
        other => bail!("not a command of administrators: {other:?}"),
    }
}

async fn init(
    flags: &Flags,
    configuration: &Configuration,
    store: &Store,
) -> anyhow::Result<String> {
    if !store.tenants().await?.is_empty() {
        bail!("a tenant exists already; create more with: tenant create");
    }
    // Opened before anything is created, because the secret could not be shown again.
    let destination = Destination::of(flags)?;
    let text = |name, usual: &str| flags.text(name).unwrap_or(usual).to_owned();
    let draft = TenantDraft {
        name: text("tenant-name", "default"),
        ..TenantDraft::default()
    };
    let owner = Owner {
        email: text("email", "owner@localhost"),
        ..Owner::default()
    };
    let (tenant, membership) = store.create_tenant(draft, &owner).await?;
    let draft = ClientDraft {
        name: text("client-name", "admin"),
        description: "Made by init".to_owned(),
        role: Some(Role::Admin),
    };
    let made = store.create_client(tenant.id, draft).await?;
    let api_url = configuration.server.url();
    destination.write(&json!({
        "api_url": api_url,
        "client_id": made.client.credential_id,
        "client_secret": made.secret.expose_secret(),
        "client_record_id": made.client.id,
        "membership_id": membership.id,
        "owner_email": membership.user_email,
        "tenant_id": tenant.id,
        "tenant_name": tenant.name,
    }))
}

async fn create_tenant(flags: &Flags, store: &Store) -> anyhow::Result<String> {
    let draft = TenantDraft {
        name: flags.owned("name").unwrap_or_default(),
        domain: flags.owned("domain"),
        external_id: flags.owned("external-id"),
        plan: flags.owned("plan"),
        plan_trial: flags.has("trial").then_some(true),
    };
    let owner = Owner {
        email: flags.owned("email").unwrap_or_default(),
        first_name: flags.owned("first-name"),
        last_name: flags.owned("last-name"),
    };
    let (tenant, membership) = store.create_tenant(draft, &owner).await?;
    Ok(to_json(
        &json!({"tenant": tenant, "membership": membership}),
    ))
}

async fn create_client(tenant: Id, flags: &Flags, store: &Store) -> anyhow::Result<String> {
    let destination = Destination::of(flags)?;
    let draft = ClientDraft {
        name: flags.owned("name").unwrap_or_default(),
        description: flags.owned("description").unwrap_or_default(),
        role: flags.text("role").map(str::parse).transpose()?,
    };
    let made = store.create_client(tenant, draft).await?;
    let mut client = shown(&made.client);
    client["credential_secret"] = Value::from(made.secret.expose_secret());
    destination.write(&client)
}

/// Returns a client with the names of this program instead of the older names of the API.
fn shown(client: &ApiClient) -> Value {
    let mut shown = json!(client);
    if let Some(members) = shown.as_object_mut() {
        members.remove("auth0_id");
        members.insert("credential_id".to_owned(), json!(client.credential_id));
    }
    shown
}

async fn invite(
    tenant: Id,
    flags: &Flags,
    configuration: &Configuration,
    store: &Store,
) -> anyhow::Result<String> {
    let destination = Destination::of(flags)?;
    let hours = flags.text("expiration").map(str::parse).transpose();
    let draft = InviteDraft {
        email: flags.owned("email").unwrap_or_default(),
        hours: hours.context("-expiration must be a whole number of hours")?,
        invited_by: None,
    };
    let made = store.create_invite(tenant, draft).await?;
    let mut invite = json!(made.invite);
    invite["token"] = Value::from(made.token.expose_secret());
    if configuration.sign_in.is_some() {
        invite["accept_url"] = made.accept_url(&configuration.server.url()).into();
    }
    destination.write(&invite)
}

async fn accept(arguments: &Arguments, store: &Store) -> anyhow::Result<String> {
    let flags = &arguments.flags;
    let token: SecretString = match (flags.text("token"), flags.path("token-file")) {
        (Some(token), None) => token.into(),
        (None, Some(path)) => {
            let text = file::text(&path, MAX_TOKEN);
            let text = text.with_context(|| path.display().to_string())?;
            text.trim().into()
        }
        _ => bail!("invite accept needs -token or -token-file"),
    };
    let (first, last) = (flags.owned("first-name"), flags.owned("last-name"));
    let id = about(arguments)?;
    Ok(to_json(
        &store.accept_invite(id, &token, first, last).await?,
    ))
}

async fn user_token(
    tenant: Id,
    flags: &Flags,
    configuration: &Configuration,
    services: &Services,
) -> anyhow::Result<String> {
    let destination = Destination::of(flags)?;
    let Some(issuer) = configuration.server.public_url.clone() else {
        bail!("user token needs server.public_url, or -public-url with the value of the server");
    };
    let lifetime = duration::parse(flags.text("lifetime").unwrap_or("1h"));
    let lifetime = lifetime.context("-lifetime")?;
    let email = flags.text("email").unwrap_or_default();
    let user = services.store.member(tenant, email).await?;
    let settings = ziggurat_account_service::TokenSettings::new(issuer);
    let tokens = Tokens::new(services.keys.clone(), settings, WallClock::default());
    let token = tokens.for_user(tenant, user, lifetime)?;
    destination.write(&json!({
        "access_token": token,
        "expires_in": lifetime.as_secs(),
        "token_type": "Bearer",
    }))
}

/// Returns the tenant named on the command line, or else the only one.
async fn tenant(flags: &Flags, store: &Store) -> anyhow::Result<Id> {
    if let Some(id) = flags.text("tenant") {
        let id = id.parse().context("-tenant")?;
        return Ok(store.tenant(id).await?.id);
    }
    match store.tenants().await?.as_slice() {
        [only] => Ok(only.id),
        [] => bail!("no tenant exists; create the first with: init"),
        _ => bail!("several tenants exist; choose one with -tenant"),
    }
}

fn about(arguments: &Arguments) -> anyhow::Result<Id> {
    let text = arguments.about.as_deref().unwrap_or_default();
    text.parse().with_context(|| format!("invalid id: {text}"))
}
