//! Commands about the grants, the clients and the keys of the sign-in. They work beside a running
//! server, which follows.

use std::{fmt::Write as _, time::Duration};

use anyhow::{Context as _, bail};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use ziggurat_accounts::{PersonId, UserFile};
use ziggurat_mcp_auth::{Grant, GrantId, Seconds, Store as _, Why};
use ziggurat_runtime::console::{Console, moment, plain};
use ziggurat_sign_in_state::{KeyFile, ListedClient, NewClient, SignInSection};
use ziggurat_state::StoreError;

use crate::{
    admin::{AdminContext, replicas::with_sign_ins},
    arguments::SignInCommand,
};

const MINUTES: &str = "%Y-%m-%d %H:%M";

/// Time for which a key that was replaced stays beyond the lifetime of access tokens.
const LEEWAY: Duration = Duration::from_mins(5);

/// Longest lifetime of access tokens, for a sign-in that is off at the moment.
const LONGEST: Duration = Duration::from_hours(24);

pub(super) fn run(
    command: SignInCommand,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let seconds = Seconds::try_from(now.as_second()).unwrap_or_default();
    match command {
        SignInCommand::ListGrants { username } => {
            list_grants(username, seconds, admin_context, console)
        }
        SignInCommand::RevokeGrant { id } => {
            let grant =
                grant_id(&id).with_context(|| format!("'{id}' is not the id of a grant"))?;
            let ended = with_sign_ins(admin_context, async |store| {
                Ok(store.end_grant(grant, Why::Administrator, seconds).await)
            });
            if !known(ended?)? {
                bail!("there is no grant '{id}'");
            }
            Ok(console.print("Grant ended\n")?)
        }
        SignInCommand::RevokeGrants { username } => {
            let person = person(&username, admin_context)?.to_string();
            let ended = with_sign_ins(admin_context, async |store| {
                let ended = store.end_grants(&person, Why::Administrator, seconds).await;
                Ok(match ended {
                    Ok(ended) => store.end_sessions(&person).await.map(|()| ended.len()),
                    Err(error) => Err(error),
                })
            });
            let count = known(ended?)?;
            Ok(console.print(&format!("{count} grant(s) ended\n"))?)
        }
        SignInCommand::ListClients => {
            let clients = with_sign_ins(admin_context, async |store| store.list_clients().await)?;
            Ok(console.print(&clients_text(&clients)?)?)
        }
        SignInCommand::AddClient {
            name,
            redirect_uris,
            has_secret,
        } => add_client(name, redirect_uris, has_secret, admin_context, console),
        SignInCommand::RemoveClient { id } => {
            let removed = with_sign_ins(admin_context, async |store| {
                store.remove_client(&id, seconds).await
            });
            if !removed? {
                bail!("there is no client '{id}'");
            }
            Ok(console.print("Client removed, and its grants ended\n")?)
        }
        SignInCommand::RotateKey { revokes } => rotate_key(revokes, now, admin_context, console),
        SignInCommand::ResetSecondFactor { username } => {
            let person = person(&username, admin_context)?.to_string();
            let removed = with_sign_ins(admin_context, async |store| {
                Ok(store.remove_factor(&person).await)
            });
            if !known(removed?)? {
                bail!("user '{username}' has no second factor");
            }
            Ok(console.print("Second factor removed\n")?)
        }
    }
}

fn list_grants(
    username: Option<String>,
    now: Seconds,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let person = username
        .map(|name| person(&name, admin_context))
        .transpose()?;
    let grants = with_sign_ins(admin_context, async |store| match &person {
        Some(person) => Ok(store.grants(&person.to_string(), now).await),
        None => store.list_grants(now).await.map(Ok),
    });
    Ok(console.print(&grants_text(&known(grants?)?)?)?)
}

fn grants_text(grants: &[Grant]) -> Result<String, std::fmt::Error> {
    if grants.is_empty() {
        return Ok("No grants found.\n".to_owned());
    }
    let mut text = format!(
        "{:<24} {:<20} {:<16} {:<16} {}\n",
        "Grant", "Username", "Made", "Last used", "Client, scope, databases"
    );
    for grant in grants {
        let name = PersonId::read(&grant.person);
        let name = name.as_ref().map_or(&*grant.person, PersonId::name);
        let databases = grant.databases.as_ref().map(|names| names.join(","));
        writeln!(
            text,
            "{:<24} {:<20} {:<16} {:<16} {}, {}, {}",
            BASE64_URL_SAFE_NO_PAD.encode(grant.id),
            plain(name),
            minutes(grant.made_at),
            minutes(grant.used_at),
            plain(&grant.client),
            grant.scope,
            plain(databases.as_deref().unwrap_or("all")),
        )?;
    }
    Ok(text)
}

fn clients_text(clients: &[ListedClient]) -> Result<String, std::fmt::Error> {
    if clients.is_empty() {
        return Ok("No clients found.\n".to_owned());
    }
    let mut text = format!(
        "{:<30} {:<8} {:<6} {:<16} {}\n",
        "Client", "Kind", "Secret", "Last used", "Name, addresses"
    );
    for client in clients {
        writeln!(
            text,
            "{:<30} {:<8} {:<6} {:<16} {}, {}",
            plain(&client.id),
            client.kind,
            if client.has_secret { "yes" } else { "no" },
            minutes(client.used_at),
            plain(&client.name),
            plain(&client.redirect_uris.join(" ")),
        )?;
    }
    Ok(text)
}

fn add_client(
    name: String,
    redirect_uris: Vec<String>,
    has_secret: bool,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    if name.is_empty() || redirect_uris.is_empty() {
        bail!("-add-client needs -client-name and -redirect-uri");
    }
    let new = NewClient::new(name, redirect_uris, has_secret)?;
    let now = Seconds::try_from(Timestamp::now().as_second()).unwrap_or_default();
    with_sign_ins(admin_context, async |store| {
        store.add_manual_client(&new.client, now).await
    })?;
    let mut text = format!("Client: {}\n", new.client.id);
    if let Some(secret) = new.secret {
        writeln!(text, "Secret: {}", secret.expose_secret())?;
        text.push_str("The secret is shown once.\n");
    }
    Ok(console.print(&text)?)
}

fn rotate_key(
    revokes: bool,
    now: Timestamp,
    admin_context: &AdminContext<'_>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let configuration = admin_context.configuration;
    let keys = KeyFile::open(&configuration.data_folder)?;
    let sign_in = configuration.auth.oauth.as_ref();
    let lifetime = sign_in.map_or(LONGEST, SignInSection::access_lifetime);
    let kept = if revokes {
        Duration::ZERO
    } else {
        lifetime + LEEWAY
    };
    keys.rotate(now, i64::try_from(kept.as_secs())?)?;
    if revokes {
        let seconds = Seconds::try_from(now.as_second()).unwrap_or_default();
        with_sign_ins(admin_context, async |store| store.end_all(seconds).await)?;
    }
    let text = if revokes {
        "A new key signs; all tokens, grants and sessions have ended\n"
    } else {
        "A new key signs; older ones stay until their tokens have expired\n"
    };
    Ok(console.print(text)?)
}

/// Returns the person of a user who has an account now.
fn person(username: &str, admin_context: &AdminContext<'_>) -> anyhow::Result<PersonId> {
    let users = UserFile::new(&admin_context.configuration.auth.user_file).list()?;
    let user = users.iter().find(|user| user.name == username);
    let user = user.with_context(|| format!("user '{username}' not found"))?;
    Ok(user.person_id())
}

fn grant_id(text: &str) -> Option<GrantId> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// Returns the result of an operation of the sign-in, which has logged why it failed.
fn known<T>(done: Result<T, ziggurat_mcp_auth::Unavailable>) -> Result<T, StoreError> {
    done.map_err(|_| StoreError::TimedOut)
}

fn minutes(at: Seconds) -> String {
    let at = i64::try_from(at)
        .ok()
        .and_then(|at| Timestamp::from_second(at).ok());
    moment(at, MINUTES, "Unknown")
}
