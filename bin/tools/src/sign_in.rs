//! The sign-in of people at this server: its own authorization server.

pub(crate) mod addresses;
mod people;
mod tokens;

use std::{error::Error, net::SocketAddr};

use anyhow::Context as _;
use tracing::{info, warn};
use ziggurat_accounts::Accounts;
use ziggurat_http::Detour;
use ziggurat_layers::clock::{Calendar as _, System};
use ziggurat_mcp_auth::{Resource, Seconds, SignIn};
use ziggurat_runtime::watch::Folders;
use ziggurat_sign_in_state::{KeyFile, SignInSection, SignInStore, SweepRules};
use ziggurat_state::StoreError;
use ziggurat_tokens::issuer::TokenVerifier;

use crate::{
    app::App,
    configuration::{Configuration, Http},
    sign_in::people::UserFilePeople,
};

pub(crate) use self::tokens::{OwnTokens, SignedTokens};

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
}

// === impl ServedSignIn ===

impl ServedSignIn {
    /// Starts the sign-in of a server that listens on this address, if it is on. From then on its
    /// tokens are accepted.
    ///
    /// # Errors
    /// Fails if its keys or its store cannot be used.
    pub(crate) async fn start(
        http: &Http,
        configuration: &Configuration,
        address: SocketAddr,
        app: &mut App,
    ) -> anyhow::Result<Option<Self>> {
        let (accounts, store) = (app.accounts.clone(), app.sign_in_store.clone());
        let (Some(section), Some((accounts, store))) =
            (&configuration.auth.oauth, accounts.zip(store))
        else {
            return Ok(None);
        };
        let issuer = http.issuer(address);
        let keys = KeyFile::open(&configuration.data_folder).context(SECTION)?;
        keys.add_seal().context(SECTION)?;
        let people = UserFilePeople::new(accounts.clone(), app.databases.clone());
        let settings = section.settings(&issuer, vec![resource(section, &issuer)]);
        let service = SignIn::new(settings, people, store.clone(), keys.clone());
        let mut service = service.context("invalid configuration: http.auth.oauth")?;
        if let Some(fetch) = section
            .fetch()
            .context("http.auth.oauth.registration.ca_file")?
        {
            service = service.with_fetch(fetch);
        }
        add_rules(&accounts, section, &service);
        let tokens = OwnTokens::new(
            section,
            &issuer,
            &service,
            &accounts,
            &store,
            &app.databases,
        );
        let tokens = tokens.context(SECTION)?;
        follow(app, section, store, keys, &tokens).await;
        let signed = Some(SignedTokens::Own(tokens));
        app.guard = Some(TokenVerifier::new(Some(accounts), signed));
        info!("people sign in at {issuer}/oauth/authorize");
        let detour = Detour::new(OwnSignIn::serves, service);
        Ok(Some(Self { detour, issuer }))
    }
}

/// Lets a password alone open nothing for a person who needs more.
fn add_rules(accounts: &Accounts, section: &SignInSection, service: &OwnSignIn) {
    let (has_passwords, service) = (section.has_passwords(), service.clone());
    accounts.add_browser_sign_in(move |person| {
        let service = service.clone();
        Box::pin(async move {
            let needs_factor = service.needs_second_factor(&person.to_string()).await;
            Ok(!has_passwords || needs_factor.map_err(|_| StoreError::TimedOut)?)
        })
    });
}

/// Starts the tasks that keep grants and keys up to date.
async fn follow(
    app: &mut App,
    section: &SignInSection,
    store: SignInStore,
    keys: KeyFile,
    tokens: &OwnTokens,
) {
    let lifetime = section.access_lifetime();
    if let Err(error) = store.read_ended(lifetime, now()).await {
        let error: &dyn Error = &error;
        warn!(error, "sign-ins that have ended cannot be read yet");
    }
    tokens.read_keys().await;
    app.run(tokens.clone().run());
    app.run(store.clone().follow(lifetime, now));
    let rules = SweepRules {
        idle: section.idle(),
    };
    app.run(store.sweep(rules, now));
    app.run(follow_keys(keys, tokens.clone()));
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
