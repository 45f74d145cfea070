//! The sign-in of people at this server: its own authorization server.

mod accounts;
mod console;
mod people;
mod tokens;

use std::{error::Error, path::Path};

use anyhow::Context as _;
use tokio::task::JoinSet;
use tracing::{info, warn};
use ziggurat_accounts::Accounts;
use ziggurat_databases::Databases;
use ziggurat_http::Detour;
use ziggurat_layers::clock::{Calendar as _, System};
use ziggurat_mcp_auth::{Resource, Seconds, SignIn};
use ziggurat_runtime::watch::Folders;
use ziggurat_sign_in_state::{KeyFile, SignInEvents, SignInSection, SignInStore, SweepRules};

use self::{accounts::BesideAccounts, people::UserFilePeople};
use crate::observation::Observation;

pub(crate) use self::{
    console::ConsoleEntrance,
    tokens::{OwnTokens, SignedTokens},
};

/// The authorization server over the accounts of the user file.
type OwnSignIn = SignIn<UserFilePeople, SignInStore, KeyFile>;

/// Key of the section.
const SECTION: &str = "http.auth.oauth";

/// Name of the server on pages where the configuration gives none.
const TITLE: &str = "Ziggurat";

/// A sign-in that is on.
#[derive(Debug)]
pub(crate) struct ServedSignIn {
    /// Serves its paths.
    pub(crate) detour: Detour,
    /// The public address, without a slash at its end.
    pub(crate) issuer: String,
    /// Opens sessions of the console.
    pub(crate) console: ConsoleEntrance,
}

/// Parts of the server that a sign-in uses.
pub(crate) struct Parts<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) databases: &'a Databases,
    pub(crate) store: &'a SignInStore,
    pub(crate) observation: &'a Observation,
    /// Folder with the keys.
    pub(crate) folder: &'a Path,
    /// Says that there is a console.
    pub(crate) has_console: bool,
}

/// Starts the sign-in at this public address. `tasks` gets the tasks that keep it up to date. Also
/// returns the verifier of its tokens.
///
/// # Errors
/// Fails if its keys or its store cannot be used.
pub(crate) async fn start(
    section: &SignInSection,
    issuer: String,
    parts: &Parts<'_>,
    tasks: &mut JoinSet<()>,
) -> anyhow::Result<(ServedSignIn, OwnTokens)> {
    let Parts {
        accounts, store, ..
    } = *parts;
    let keys = KeyFile::open(parts.folder).context(SECTION)?;
    keys.add_seal().context(SECTION)?;
    let people = UserFilePeople::new(accounts.clone(), parts.databases.clone());
    let mut settings = section.settings(&issuer, vec![resource(section, &issuer)]);
    settings.console = parts.has_console.then(|| console::PAGE.to_owned());
    let service = SignIn::new(settings, people, store.clone(), keys.clone());
    let mut service = service.context("invalid configuration: http.auth.oauth")?;
    let fetch = section.fetch();
    if let Some(fetch) = fetch.context("http.auth.oauth.registration.ca_file")? {
        service = service.with_fetch(fetch);
    }
    let providers = section.providers();
    if let Some(ask) = providers.context("http.auth.oauth.registration.ca_file")? {
        service = service.with_providers(ask);
        let asking = service.clone();
        tasks.spawn(async move { asking.fetch_providers().await });
    }
    let calls = &parts.observation.calls;
    let events = SignInEvents::new(calls.audit.clone(), calls.metrics.clone());
    tasks.spawn(events.clone().count_grants(store.clone(), now));
    let service = service.with_events(move |event, request| events.take(event, request));
    let (beside, departures) = BesideAccounts::new(section, &service, store.ended());
    accounts.add_browser_sign_in(beside);
    let ending = accounts::end_grants(store.clone(), accounts.clone(), departures);
    tasks.spawn(ending);
    tasks.spawn(console::end_sessions(store.ended(), accounts.clone()));
    let tokens = OwnTokens::new(section, &issuer, &service, parts);
    let tokens = tokens.context(SECTION)?;
    follow(section, store.clone(), keys, &tokens, tasks).await;
    info!("people sign in at {issuer}/oauth/authorize");
    let console = ConsoleEntrance::new(service.clone(), accounts.clone());
    let served = ServedSignIn {
        detour: Detour::new(OwnSignIn::serves, service),
        issuer,
        console,
    };
    Ok((served, tokens))
}

/// Starts the tasks that keep grants and keys up to date.
async fn follow(
    section: &SignInSection,
    store: SignInStore,
    keys: KeyFile,
    tokens: &OwnTokens,
    tasks: &mut JoinSet<()>,
) {
    // Sessions of the console ask for them, too.
    let lifetime = section.access_lifetime().max(console::LONGEST_SESSION);
    if let Err(error) = store.read_ended(lifetime, now()).await {
        let error: &dyn Error = &error;
        warn!(error, "sign-ins that have ended cannot be read yet");
    }
    tokens.read_keys().await;
    tasks.spawn(tokens.clone().run());
    tasks.spawn(store.clone().follow(lifetime, now));
    let rules = SweepRules {
        idle: section.idle(),
    };
    tasks.spawn(store.sweep(rules, now));
    tasks.spawn(follow_keys(keys, tokens.clone()));
}

/// Returns the address of the document about this server as a protected resource.
pub(crate) fn document_of(issuer: &str) -> String {
    format!("{issuer}/.well-known/oauth-protected-resource/mcp")
}

/// Describes this server as the one that tokens are for.
fn resource(section: &SignInSection, issuer: &str) -> Resource {
    let title = section.title().unwrap_or(TITLE);
    Resource::new(format!("{issuer}/mcp"), title)
        .with_alias(issuer)
        .with_alias(format!("{issuer}/mcp/v1"))
        .with_alias(format!("{issuer}/mcp/x/*"))
}

/// Reads the keys again when their file changes.
async fn follow_keys(keys: KeyFile, tokens: OwnTokens) {
    let mut folders = Folders::new("signing keys");
    loop {
        folders.follow([keys.path()]);
        folders.changed().await;
        match keys.reload() {
            // The verifier has the published keys in memory.
            Ok(()) => tokens.read_keys().await,
            Err(error) => {
                let error: &dyn Error = &error;
                warn!(
                    error,
                    "cannot read the signing keys; the previous ones stay in use"
                );
            }
        }
    }
}

fn now() -> Seconds {
    System.date().as_secs()
}
