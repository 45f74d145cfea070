//! The sign-in of people at this server.

use std::time::Duration;

use anyhow::Context as _;
use tokio::task::JoinSet;
use tracing::{info, warn};
use ziggurat_account_service::{Members, REVOCATIONS, Store, Tokens};
use ziggurat_http::Detour;
use ziggurat_mcp_auth::{Resource, Seconds, SignIn};
use ziggurat_sign_in_state::{KeyFile, SignInEvents, SignInStore, SweepRules};
use ziggurat_tokens::WallClock;

use crate::configuration::{COMMAND_LINE, Configuration, SignInSettings};

/// The authorization server over the users and members of tenants.
type PlatformSignIn = SignIn<Members, SignInStore, KeyFile>;

/// Name of this server on pages where the configuration gives none.
const TITLE: &str = "The account service";

/// A sign-in that is on, with its grants.
#[derive(Clone, Copy)]
pub(crate) struct Grants<'a> {
    pub(crate) settings: &'a SignInSettings,
    pub(crate) store: &'a SignInStore,
}

// === impl Grants ===

impl Grants<'_> {
    /// Serves the sign-in, with the keys and the issuer of these tokens.
    ///
    /// # Errors
    /// Fails if the settings or the keys cannot be used.
    pub(crate) fn serve(
        self,
        configuration: &Configuration,
        store: &Store,
        tokens: &Tokens,
        events: &SignInEvents,
        tasks: &mut JoinSet<()>,
    ) -> anyhow::Result<Detour> {
        let section = &self.settings.section;
        let issuer = tokens.issuer();
        let mut resources = self.settings.resources.clone();
        let title = section.title().unwrap_or(TITLE);
        resources.push(Resource::new(issuer, title).with_client(COMMAND_LINE));
        let mut settings = section.settings(issuer, resources);
        settings.revoked_clients_uri = Some(format!("{issuer}{REVOCATIONS}"));
        let keys = tokens.keys();
        keys.add_seal().context("sign_in")?;
        let clock = configuration.tests.clock.clone();
        let people = Members::new(store.clone(), tokens.clone(), configuration.attempts);
        let now = seconds(clock);
        let service =
            PlatformSignIn::with_time(settings, people, self.store.clone(), keys.clone(), now);
        let service = service.context("invalid configuration: sign_in")?;
        let events = events.clone();
        let mut service = service.with_events(move |event, request| events.take(event, request));
        if let Some(fetch) = section.fetch().context("sign_in.registration.ca_file")? {
            service = service.with_fetch(fetch);
        }
        let providers = section.providers();
        if let Some(ask) = providers.context("sign_in.registration.ca_file")? {
            service = service.with_providers(ask);
            let asking = service.clone();
            tasks.spawn(async move { asking.fetch_providers().await });
        }
        info!("people sign in at {issuer}/oauth/authorize");
        Ok(Detour::new(PlatformSignIn::serves, service))
    }

    /// Starts the tasks that keep grants up to date.
    pub(crate) async fn follow(
        self,
        clock: &WallClock,
        events: SignInEvents,
        tasks: &mut JoinSet<()>,
    ) {
        let (lifetime, now) = (self.lifetime(), seconds(clock.clone()));
        if let Err(error) = self.store.read_ended(lifetime, now()).await {
            let error: &dyn std::error::Error = &error;
            warn!(error, "sign-ins that have ended cannot be read yet");
        }
        tasks.spawn(self.store.clone().follow(lifetime, now.clone()));
        tasks.spawn(events.count_grants(self.store.clone(), now.clone()));
        let idle = self.settings.section.idle();
        tasks.spawn(self.store.clone().sweep(SweepRules { idle }, now));
    }

    /// Returns the lifetime of the access tokens of people.
    pub(crate) fn lifetime(self) -> Duration {
        self.settings.section.access_lifetime()
    }
}

/// Returns a function that gives the moment of a clock.
pub(crate) fn seconds(clock: WallClock) -> impl Fn() -> Seconds + Clone + Send + Sync + 'static {
    move || clock.now().as_second().try_into().unwrap_or_default()
}
