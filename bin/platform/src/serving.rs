//! Runs the server until it is stopped.

use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::Context as _;
use tokio::{net::TcpListener, task::JoinSet};
use tracing::{error, info, warn};
use ziggurat_account_service::Tokens;
use ziggurat_http::{OptionalTls, Readiness, Tls, connection_count};
use ziggurat_layers::shutdown::CutOff;
use ziggurat_runtime::{
    listen::{self, Listening},
    open_files, signals,
    watch::Folders,
};
use ziggurat_serve::{Limits, Server};
use ziggurat_sign_in_state::KeyFile;
use ziggurat_telemetry::Metrics;

use crate::{configuration::Configuration, observation::Observation, services::Services, stack};

/// Maximum number of client connections.
const MAX_CONNECTIONS: usize = 4096;

/// Runs the configured server until a signal stops it.
///
/// # Errors
/// Fails if the server cannot start, or loses its listening socket.
pub(crate) async fn serve(
    configuration: &Configuration,
    listening: Listening<'_>,
) -> anyhow::Result<()> {
    let stop = signals::stop().context("cannot listen to signals")?;
    let readiness = Readiness::new("part");
    let stopping = readiness.clone();
    let stop = async move {
        stop.await;
        info!("shutting down");
        stopping.stop();
    };
    let observation = Observation::start(configuration)?;
    let services = Services::open(configuration, &observation.metrics).await?;
    if let Err(error) = services.store.check().await {
        let error: &dyn std::error::Error = &error;
        warn!(error, "the store is unreachable; the server keeps trying");
    }
    let listen_address = &configuration.server.address;
    // The look-up of a name may block; no other task is running yet.
    let listener = listen_address
        .to_socket_addrs()
        .and_then(listen::on_first)
        .with_context(|| format!("cannot listen on {listen_address}"))?;
    let address = listener.local_addr().context("reading the address")?;
    let outcome = serve_on(
        configuration,
        &services,
        &observation,
        readiness,
        (listener, address),
        stop,
        listening,
    )
    .await;
    services.close().await;
    observation.close().await;
    outcome
}

async fn serve_on(
    configuration: &Configuration,
    services: &Services,
    observation: &Observation,
    readiness: Readiness,
    (listener, address): (TcpListener, SocketAddr),
    stop: impl Future<Output = ()>,
    listening: Listening<'_>,
) -> anyhow::Result<()> {
    let mut limits = Limits::default();
    limits.max_connections = open_files::room_for(MAX_CONNECTIONS, "the limit of connections");
    limits.body_timeout = configuration.server.body_timeout;
    limits.shutdown_grace = configuration.server.shutdown_timeout;
    let cut_off = CutOff::default();
    let tls = configuration.server.tls.as_ref();
    let tls = tls.map(Tls::open).transpose()?;
    if tls.is_none() && !address.ip().is_loopback() {
        warn!(%address, "secrets and tokens are sent unencrypted to clients of this address");
    }
    let web = Server::new(limits)
        .with_connection_count(connection_count(&observation.metrics))
        .with_cut_off(cut_off.clone());
    let web = web.with_acceptor(OptionalTls(tls));
    let settings = configuration.token_settings(address);
    info!("tokens are issued by {}", settings.issuer);
    let clock = configuration.tests.clock.clone();
    #[cfg(feature = "test-support")]
    if configuration.tests.are_hooked {
        warn!("clients can make this server fail: use it for tests only");
    }
    let mut tokens = Tokens::new(services.keys.clone(), settings, clock);
    let mut tasks = JoinSet::new();
    let mut detour = None;
    if let Some(grants) = services.grants(configuration) {
        tokens = tokens.with_ended(grants.store.ended(), grants.lifetime());
        let events = observation.sign_in_events();
        let (store, clock) = (&services.store, &configuration.tests.clock);
        detour = Some(grants.serve(configuration, store, &tokens, &events, &mut tasks)?);
        grants.follow(clock, events, &mut tasks).await;
    }
    let served = stack::Served {
        store: services.store.clone(),
        tokens,
        sign_in: services.grants(configuration).map(|it| it.store.clone()),
        readiness: readiness.clone(),
    };
    let tower = stack::build(
        configuration,
        address.ip(),
        served,
        detour,
        cut_off,
        observation,
    )?;
    start_tasks(configuration, services, observation, readiness, &mut tasks)?;
    let scheme = if configuration.server.tls.is_some() {
        "https"
    } else {
        "http"
    };
    info!("listening on {scheme}://{address}");
    listening(address);
    let outcome = web.serve(listener, tower, stop).await;
    tasks.shutdown().await;
    outcome.context("cannot accept connections")
}

/// Starts the tasks that run until the server ends.
fn start_tasks(
    configuration: &Configuration,
    services: &Services,
    observation: &Observation,
    readiness: Readiness,
    tasks: &mut JoinSet<()>,
) -> anyhow::Result<()> {
    observation.serve(&configuration.telemetry, &services.store, tasks)?;
    let store = services.store.clone();
    tasks.spawn(readiness.watch_shared(move || {
        let store = store.clone();
        async move { store.check().await }
    }));
    tasks.spawn(follow_keys(
        services.keys.clone(),
        observation.metrics.clone(),
    ));
    Ok(())
}

/// Reloads the keys when their file changes.
async fn follow_keys(keys: KeyFile, metrics: Metrics) {
    let mut folders = Folders::new("signing keys");
    folders.follow([keys.path()]);
    // Triggers a first read, because the file may have changed after the keys were read.
    folders.trigger();
    loop {
        folders.changed().await;
        let reloaded = keys.reload();
        metrics.reload(if reloaded.is_ok() { "ok" } else { "failed" });
        if let Err(error) = reloaded {
            let error: &dyn std::error::Error = &error;
            error!(
                error,
                "cannot read the signing keys; the previous ones stay in use"
            );
        }
        folders.follow([keys.path()]);
    }
}
