//! Services of a running server, their start and their shutdown.

use std::{fs, net::SocketAddr, time::Duration};

use anyhow::Context as _;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time,
};
use tracing::{info, warn};
use ziggurat_accounts::{self as accounts, Accounts};
use ziggurat_chat_api::llm::Proxy;
use ziggurat_databases::{Configured, Databases};
use ziggurat_http::Readiness;
use ziggurat_layers::shutdown::CutOff;
use ziggurat_mcp::DetachedCalls;
use ziggurat_postgres::{database::IdentityKey, pool::Pools};
use ziggurat_postgres_tools::custom::DefinitionFiles;
use ziggurat_query_api::{QueryApi, QueryLimits};
use ziggurat_sign_in_state::SignInStore;
use ziggurat_state::{Conversations, Shared};
use ziggurat_tokens::issuer::{self, Issuer, TokenVerifier};

use crate::{
    catalogue::{self, CatalogueBuilder, current::CurrentCatalogue, knowledge::Knowledge},
    configuration::{Auth, Configuration, Http, Loaded},
    observation::{Observation, metrics},
    providers::{Providers, proxy},
    reload::administered::{Administered, ReloadRequest},
    sign_in::{self, ServedSignIn, SignedTokens},
    state::ServerState,
};

/// Time for connections to PostgreSQL to close cleanly.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Time for connecting to the databases and reading their tables before clients are accepted.
const WARM_UP_TIMEOUT: Duration = Duration::from_secs(1);

/// Verifies sessions, API tokens, and tokens of an issuer if one is trusted.
pub(crate) type Verifier = TokenVerifier<Accounts, SignedTokens>;

/// The services, and the tasks that maintain them.
pub(crate) struct App {
    pub(crate) databases: Databases,
    pub(crate) accounts: Option<Accounts>,
    /// Verifies tokens, where authentication is required.
    pub(crate) guard: Option<Verifier>,
    /// Everything that calls see.
    pub(crate) catalogue: CurrentCatalogue,
    /// Builds the catalogue after a reload.
    pub(crate) builder: CatalogueBuilder,
    /// The files of the definitions, if there are any.
    pub(crate) definition_files: Option<DefinitionFiles>,
    pub(crate) conversations: Option<Conversations>,
    /// The grants of the sign-in, if it is on.
    pub(crate) sign_in_store: Option<SignInStore>,
    pub(crate) proxy: Option<Proxy>,
    /// Statements over HTTP.
    pub(crate) query: QueryApi,
    /// Readiness of the databases, for `/ready`.
    pub(crate) readiness: Readiness,
    /// Cuts off requests in flight when their time at shutdown is over.
    pub(crate) cut_off: CutOff,
    /// The audit trail, the metrics and the limits of callers.
    pub(crate) observation: Observation,
    /// The program as its administrators see it.
    pub(crate) administered: Administered,
    /// Requests of administrators, until reloads are prepared.
    pub(crate) reload_requests: Option<mpsc::Receiver<ReloadRequest>>,
    pools: Pools,
    reaper: JoinSet<()>,
    keepers: JoinSet<()>,
    tasks: JoinSet<()>,
}

impl App {
    /// Builds the services, and connects to all databases at the same time. A database that takes
    /// longer than a second is connected in the background.
    ///
    /// # Errors
    /// Fails if a required file cannot be used.
    pub(crate) async fn build(loaded: &Loaded) -> anyhow::Result<Self> {
        let configuration = &loaded.value;
        // First, so that a second server on the same trail changes nothing.
        let (mut tasks, mut keepers) = (JoinSet::new(), JoinSet::new());
        let observation = Observation::start(configuration, &mut tasks)?;
        let (pools, reaper) = Pools::with_metrics(observation.calls.metrics.clone());
        let readiness = readiness(&observation);
        // On standard input and output no client logs in, and no state is kept.
        let has_accounts = configuration.http.is_some() && configuration.auth.is_enabled;
        let state = if has_accounts {
            let (tasks, keepers) = (&mut tasks, &mut keepers);
            ServerState::open(configuration, &readiness, &observation, tasks, keepers).await?
        } else {
            ServerState::without_accounts(configuration)
        };
        let list = configured(configuration);
        let databases = Databases::replicated(pools.clone(), list, state.shared.clone());
        let are_warm = warm(&databases, &mut tasks);
        let accounts = has_accounts
            .then(|| open(configuration, &databases, state.shared.clone()))
            .transpose()?;
        let providers = Providers::new(observation.calls.metrics.clone());
        let knowledge = Knowledge::of(&configuration.knowledgebase, &providers);
        let cut_off = CutOff::default();
        let (known, shared) = (accounts.as_ref(), state.shared.as_ref());
        let detached = detached_calls(&mut tasks);
        let builder = CatalogueBuilder::new(configuration, known, &knowledge, &providers, shared)
            .with_serving(cut_off.clone(), detached, &observation);
        let (catalogue, definition_files) =
            first_catalogue(&builder, configuration, &databases, &observation)?;
        let (administered, requests) = Administered::new(loaded, catalogue.clone());
        tasks.spawn(knowledge.warm());
        let guard = token_verifier(configuration, accounts.as_ref(), &databases, &mut tasks)?;
        let http = configuration.http.as_ref();
        let proxy = http.and_then(|_| proxy::open(&configuration.llm, &providers));
        let query = query_api(configuration, &databases, &builder).with_cut_off(cut_off.clone());
        // Failures are logged by the task that connects.
        time::timeout(WARM_UP_TIMEOUT, are_warm).await.ok();
        // Not earlier: the first check would compete with reading the tables.
        if http.is_some() {
            tasks.spawn(databases.clone().watch(readiness.clone()));
        }
        Ok(Self {
            databases,
            accounts,
            guard,
            catalogue,
            builder,
            definition_files,
            conversations: state.conversations,
            sign_in_store: state.sign_in,
            proxy,
            query,
            readiness,
            cut_off,
            observation,
            administered,
            reload_requests: Some(requests),
            pools,
            reaper: JoinSet::from_iter([reaper.run()]),
            keepers,
            tasks,
        })
    }

    /// Starts the sign-in of a server that listens on this address, if it is on. From then on its
    /// tokens are accepted.
    ///
    /// # Errors
    /// Fails if its keys or its store cannot be used.
    pub(crate) async fn start_sign_in(
        &mut self,
        http: &Http,
        configuration: &Configuration,
        address: SocketAddr,
    ) -> anyhow::Result<Option<ServedSignIn>> {
        let parts = (&self.accounts, &self.sign_in_store);
        let (Some(section), (Some(accounts), Some(store))) = (&configuration.auth.oauth, parts)
        else {
            return Ok(None);
        };
        let parts = sign_in::Parts {
            accounts,
            databases: &self.databases,
            store,
            observation: &self.observation,
            folder: &configuration.data_folder,
            has_console: http.console,
        };
        let issuer = http.issuer(address);
        let started = sign_in::start(section, issuer, &parts, &mut self.tasks);
        let (served, tokens) = started.await?;
        let signed = Some(SignedTokens::Own(tokens));
        self.guard = Some(TokenVerifier::new(Some(accounts.clone()), signed));
        Ok(Some(served))
    }

    /// Runs a task until shutdown.
    pub(crate) fn run(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Releases all resources, connections last.
    pub(crate) async fn shut_down(self) {
        let Self {
            databases,
            accounts,
            guard,
            catalogue,
            builder,
            definition_files: _,
            conversations,
            sign_in_store,
            proxy,
            query,
            readiness: _,
            cut_off: _,
            observation,
            administered,
            reload_requests: _,
            pools,
            mut reaper,
            mut keepers,
            mut tasks,
        } = self;
        tasks.shutdown().await;
        pools.close_all();
        drop((databases, accounts, guard, catalogue, builder));
        drop((conversations, proxy, query, administered, pools));
        let connections_closed = async { while reaper.join_next().await.is_some() {} };
        if time::timeout(CLOSE_TIMEOUT, connections_closed)
            .await
            .is_err()
        {
            warn!("connections to PostgreSQL were not closed in time");
        }
        if let Some(store) = sign_in_store {
            store.close().await;
        }
        let closed = async { while keepers.join_next().await.is_some() {} };
        if time::timeout(CLOSE_TIMEOUT, closed).await.is_err() {
            warn!("conversations were left in two files; the next start merges them");
        }
        // Last, so that the calls that were cut off have their records.
        observation.close(CLOSE_TIMEOUT).await;
    }
}

/// Makes `/api/query` and exports, with their limits.
fn query_api(
    configuration: &Configuration,
    databases: &Databases,
    builder: &CatalogueBuilder,
) -> QueryApi {
    QueryApi::new(
        databases.clone(),
        builder.signer(),
        query_limits(configuration),
    )
    .with_receipts(builder.receipts())
}

/// Returns the limits of statements over HTTP.
pub(crate) fn query_limits(configuration: &Configuration) -> QueryLimits {
    QueryLimits {
        max_rows: configuration.limits.max_rows,
        max_export_rows: configuration.limits.max_export_rows,
        max_query_bytes: configuration.limits.max_query_bytes,
    }
}

/// Builds what calls see at the start, and returns also the files of the definitions.
fn first_catalogue(
    builder: &CatalogueBuilder,
    configuration: &Configuration,
    databases: &Databases,
    observation: &Observation,
) -> anyhow::Result<(CurrentCatalogue, Option<DefinitionFiles>)> {
    let (files, own) = catalogue::definitions(configuration);
    let (catalogue, warnings) = builder.build(configuration, databases.fixed(), &own?)?;
    for warning in warnings {
        warn!("{warning}");
    }
    metrics::learn_tools(&observation.calls.metrics, &catalogue.mcp);
    Ok((CurrentCatalogue::new(catalogue), files))
}

/// Lets calls run to their end after their clients are gone.
fn detached_calls(tasks: &mut JoinSet<()>) -> DetachedCalls {
    let (detached_calls, runner) = DetachedCalls::new();
    tasks.spawn(runner.run());
    detached_calls
}

/// Describes the databases for the services.
pub(crate) fn configured(configuration: &Configuration) -> impl Iterator<Item = Configured> {
    let local = &configuration.identities.local;
    let shows_plans = configuration.shows_plans;
    let secret = configuration.secret_file.as_ref();
    let secret = secret
        .and_then(|path| fs::read(path).ok())
        .filter(|it| !it.is_empty());
    let key = secret.map_or_else(IdentityKey::of_process, |it| IdentityKey::of(&it));
    configuration
        .databases
        .iter()
        .map(move |entry| entry.configured(local, shows_plans, &key))
}

/// Makes the readiness of the server, which depends on the audit trail if there is one.
fn readiness(observation: &Observation) -> Readiness {
    let readiness = Readiness::new("database");
    if let Some(audit) = &observation.calls.audit {
        readiness.watch_audit(audit.unavailable());
    }
    readiness
}

/// Connects to the databases and reads their tables; the receiver resolves when this is done.
fn warm(databases: &Databases, tasks: &mut JoinSet<()>) -> oneshot::Receiver<()> {
    let (warmed, are_warm) = oneshot::channel();
    let warming = databases.warm();
    tasks.spawn(async move {
        warming.await;
        warmed.send(()).ok();
    });
    are_warm
}

/// Creates the token verifier, if there are accounts, and starts the tasks that keep it up to date.
fn token_verifier(
    configuration: &Configuration,
    accounts: Option<&Accounts>,
    databases: &Databases,
    tasks: &mut JoinSet<()>,
) -> anyhow::Result<Option<Verifier>> {
    let Some(accounts) = accounts else {
        return Ok(None);
    };
    tasks.spawn(accounts.watch().run());
    let issuer = trust(configuration, databases)?;
    if let Some(issuer) = &issuer {
        tasks.spawn(issuer.clone().run());
    }
    let issuer = issuer.map(SignedTokens::External);
    Ok(Some(TokenVerifier::new(Some(accounts.clone()), issuer)))
}

/// Prepares verification of tokens of another issuer, if one is configured.
fn trust(configuration: &Configuration, databases: &Databases) -> anyhow::Result<Option<Issuer>> {
    let Some(trusted) = &configuration.auth.issuer else {
        return Ok(None);
    };
    let databases = databases.clone();
    let settings = issuer::Settings {
        databases: configuration.auth.issuer_databases.clone(),
        claims: configuration.identities.claims.clone(),
        ..trusted.settings()?
    };
    let issuer = Issuer::new(settings, move |session| databases.forget(session))
        .context("http.auth.issuer")?;
    info!(
        "tokens of {} are accepted for {}",
        trusted.url,
        trusted.resource()
    );
    Ok(Some(issuer))
}

fn open(
    configuration: &Configuration,
    databases: &Databases,
    shared: Option<Shared>,
) -> anyhow::Result<Accounts> {
    let Auth {
        token_file,
        user_file,
        lockout,
        window,
        max_attempts,
        min_password_length,
        ..
    } = &configuration.auth;
    let settings = accounts::Settings {
        token_file: token_file.clone(),
        requires_tokens: configuration.auth.needs_tokens(),
        user_file: user_file.clone(),
        max_failed_attempts: lockout.map_or(0, Into::into),
        failed_logins: ziggurat_layers::rate_limit::Quota::new(*max_attempts, *window)
            .context("invalid configuration: http.auth.rate_limit_window_minutes")?,
        concurrent_logins: configuration.limits.max_login_workers,
        min_password_length: *min_password_length,
        max_sessions: configuration.limits.max_sessions_per_user,
        shared,
        ..accounts::Settings::default()
    };
    let databases = databases.clone();
    let accounts = Accounts::open(settings, move |session| databases.forget(session))?;
    info!(
        "login rate limit: {max_attempts} failures per {} minutes from one address",
        window.as_secs() / 60
    );
    let (tokens, users) = accounts.counts();
    for (count, kind, path) in [(tokens, "token", token_file), (users, "user", user_file)] {
        info!("Loaded {count} {kind}(s) from {}", path.display());
        info!("Watching {} for changes", path.display());
    }
    Ok(accounts)
}
