//! Serving until a shutdown signal.

pub(crate) mod folder;
pub(crate) mod prove;
pub(crate) mod stdio;

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use anyhow::Context as _;
use tokio::net::TcpListener;
use tracing::{info, warn};
use ziggurat_http::{OptionalTls, Tls, connection_count};
use ziggurat_layers::shutdown::CutOff;
use ziggurat_postgres::pool::Pools;
use ziggurat_runtime::{Address, listen::Listening, open_files, signals};
use ziggurat_serve::{Limits, Server as Web};

use crate::{
    app::{App, PipelineBuilder, Reusable},
    authentication::Authentication,
    configuration::{self, ConfigSources, Configuration, Loaded},
    observation::Observed,
    reload::{self, Reload},
    secrets::Secrets,
    stack,
};

/// Limit on connections of clients.
const MAX_CONNECTIONS: usize = 4096;

/// The parts of a running server that need no client.
struct Started {
    configuration: Configuration,
    observed: Observed,
    reload: Reload,
    app: App,
}

/// Serves the configured pipelines until a shutdown signal.
///
/// # Errors
/// Fails if the server cannot start, or if its listener fails.
pub(crate) async fn serve(
    loaded: Loaded,
    sources: ConfigSources,
    secrets: Secrets,
    listening: Listening<'_>,
) -> anyhow::Result<()> {
    let stop = stopped()?;
    let server = loaded.value.server.clone();
    let mut started = Started::new(loaded, sources, secrets, &server)?;
    let auth = server.auth.as_ref();
    let claims = started.configuration.identities.claims.clone();
    let auth = auth.map(|auth| Authentication::open(auth, claims));
    let auth = auth.transpose()?;
    let tls = server.tls.as_ref().map(Tls::open).transpose()?;
    let listeners = listen(&server);
    let listeners = listeners.with_context(|| format!("cannot listen on {}", address(&server)))?;
    let calls = started.observed.calls.clone();
    let bound = bound(&listeners)?;
    let first = bound.first().context("no address to listen on")?;
    let cut_off = CutOff::default();
    let (configuration, app) = (&started.configuration, &started.app);
    let tower = stack::build(
        configuration,
        first.ip(),
        app,
        auth.as_ref(),
        &cut_off,
        &calls,
    )?;
    let keeping = auth.as_ref().map(Authentication::keep_current);
    let readiness = app.pipelines.readiness().clone();
    if let Some(audit) = &calls.audit {
        readiness.watch_audit(audit.unavailable());
    }
    let stop = async move {
        stop.await;
        readiness.stop();
    };
    let web = Web::new(limits(&server)).with_cut_off(cut_off);
    let web = web.with_acceptor(OptionalTls(tls));
    let web = web.with_connection_count(connection_count(&calls.metrics));
    announce(&server, &bound, listening);
    let outcome = started.until(web.serve(listeners, tower, stop)).await;
    drop(keeping);
    started.shut_down().await;
    outcome.context("cannot accept connections")
}

// === impl Started ===

impl Started {
    /// Starts the parts of a server that need no client.
    fn new(
        loaded: Loaded,
        sources: ConfigSources,
        secrets: Secrets,
        server: &configuration::Server,
    ) -> anyhow::Result<Self> {
        let configuration = loaded.value.clone();
        // First, so that a second server on the same trail changes nothing.
        let observed = Observed::start(&configuration)?;
        let metrics = observed.calls.metrics.clone();
        let (pools, reaper) = Pools::with_metrics(metrics.clone());
        let builder = PipelineBuilder::new(pools.clone(), sources, secrets, metrics.clone());
        let states = reload::states(&loaded);
        let set = builder
            .make(&configuration, &Reusable::default())
            .context("failed to create pipeline manager")?;
        let limits = configuration.limits.clone();
        let app = App::new(set, limits, pools, reaper, server);
        let figures = app.sync_figures.clone();
        metrics.read_sync(move || figures.counts());
        let calls = observed.calls.clone();
        Ok(Self {
            configuration,
            observed,
            reload: Reload::new(loaded, states, Arc::new(builder), calls),
            app,
        })
    }

    /// Serves, and follows the files of the configuration meanwhile.
    async fn until<T>(&mut self, serving: impl Future<Output = T>) -> T {
        tokio::select! {
            served = serving => served,
            never = self.reload.run(&mut self.app) => match never {},
        }
    }

    async fn shut_down(self) {
        // It also holds the pools, and connections close when the last holder is dropped.
        drop(self.reload);
        self.app.shut_down().await;
        // Last, so that the questions that were cut off have their records.
        self.observed.shut_down().await;
    }
}

fn limits(server: &configuration::Server) -> Limits {
    const HEAD: std::time::Duration = std::time::Duration::from_secs(30);
    let mut limits = Limits::default();
    limits.max_connections = open_files::room_for(MAX_CONNECTIONS, "the limit of connections");
    limits.header_timeout = HEAD;
    limits.body_timeout = server.body_timeout;
    limits.shutdown_grace = server.shutdown_timeout;
    limits
}

/// Listens on the configured address. A host name is looked up, which may block.
fn listen(server: &configuration::Server) -> anyhow::Result<Vec<TcpListener>> {
    Ok(address(server).parse::<Address>()?.listen()?)
}

/// Returns the address as configured.
fn address(server: &configuration::Server) -> String {
    match server.listen_address.parse::<IpAddr>() {
        Ok(ip) => SocketAddr::new(ip, server.port).to_string(),
        Err(_) => format!("{}:{}", server.listen_address, server.port),
    }
}

/// Returns the addresses that were bound.
fn bound(listeners: &[TcpListener]) -> anyhow::Result<Vec<SocketAddr>> {
    listeners
        .iter()
        .map(TcpListener::local_addr)
        .collect::<Result<_, _>>()
        .context("reading the address")
}

fn announce(server: &configuration::Server, bound: &[SocketAddr], listening: Listening<'_>) {
    let is_open = bound.iter().any(|socket| !socket.ip().is_loopback());
    let address = address(server);
    if is_open && server.tls.is_none() && server.auth.is_some() {
        warn!(
            address,
            "the traffic is not encrypted, so tokens can be read on the network"
        );
    } else if is_open && server.tls.is_none() {
        warn!(
            address,
            "all clients that reach this address may send requests, and the traffic is not \
             encrypted"
        );
    }
    if is_open && server.allowed_hosts.is_empty() {
        warn!(
            address,
            "requests for any host are accepted; set server.allowed_hosts to the names of this \
             server"
        );
    }
    info!(address, tls = server.tls.is_some(), "starting server");
    if let [first, ..] = bound {
        listening(*first);
    }
}

/// Returns a future that completes on a shutdown signal.
fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    let stop = signals::stop().context("cannot listen to signals")?;
    Ok(async move {
        stop.await;
        info!("received shutdown signal");
        info!("shutting down server");
    })
}
