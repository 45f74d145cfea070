//! Runs the server until it is stopped.

use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::Context as _;
use tokio::{net::TcpListener, task::JoinSet};
use tracing::{error, info, warn};
use ziggurat_account_service::Tokens;
use ziggurat_http::{OptionalTls, Readiness, Tls};
use ziggurat_layers::shutdown::CutOff;
use ziggurat_runtime::{listen, open_files, signals, watch::Folders};
use ziggurat_serve::{Limits, Server};

use crate::{configuration::Configuration, services::Services, stack};

/// Maximum number of client connections.
const MAX_CONNECTIONS: usize = 4096;

/// Runs the configured server until a signal stops it.
///
/// # Errors
/// Fails if the server cannot start, or loses its listening socket.
pub(crate) async fn serve(
    configuration: &Configuration,
    listening: impl FnOnce(SocketAddr),
) -> anyhow::Result<()> {
    let stop = signals::stop().context("cannot listen to signals")?;
    let readiness = Readiness::new("part");
    let stopping = readiness.clone();
    let stop = async move {
        stop.await;
        info!("shutting down");
        stopping.stop();
    };
    let services = Services::open(configuration).await?;
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
        readiness,
        (listener, address),
        stop,
        listening,
    )
    .await;
    services.close().await;
    outcome
}

async fn serve_on(
    configuration: &Configuration,
    services: &Services,
    readiness: Readiness,
    (listener, address): (TcpListener, SocketAddr),
    stop: impl Future<Output = ()>,
    listening: impl FnOnce(SocketAddr),
) -> anyhow::Result<()> {
    let mut limits = Limits::default();
    limits.max_connections = open_files::room_for(MAX_CONNECTIONS, "the limit of connections");
    limits.body_timeout = configuration.server.body_timeout;
    limits.shutdown_grace = configuration.server.shutdown_timeout;
    let cut_off = CutOff::default();
    let tls = configuration.server.tls.as_ref();
    let tls = tls.map(|tls| Tls::from_files(&tls.cert, &tls.key, None));
    let tls = tls.transpose()?;
    if tls.is_none() && !address.ip().is_loopback() {
        warn!(%address, "secrets and tokens are sent unencrypted to clients of this address");
    }
    let web = Server::new(limits).with_cut_off(cut_off.clone());
    let web = web.with_acceptor(OptionalTls(tls));
    let settings = configuration.token_settings(address);
    info!("tokens are issued by {}", settings.issuer);
    let clock = configuration.tests.clock.clone();
    #[cfg(feature = "test-support")]
    if configuration.tests.are_hooked {
        warn!("clients can make this server fail: use it for tests only");
    }
    let tokens = Tokens::new(services.keys.clone(), settings, clock);
    let tower = stack::build(
        configuration,
        address.ip(),
        readiness.clone(),
        services.store.clone(),
        tokens,
        cut_off,
    )?;
    let mut tasks = JoinSet::new();
    let store = services.store.clone();
    tasks.spawn(readiness.watch_shared(move || {
        let store = store.clone();
        async move { store.check().await }
    }));
    tasks.spawn(follow_keys(services.keys.clone()));
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

/// Reloads the keys when their file changes.
async fn follow_keys(keys: ziggurat_account_service::Keys) {
    let mut folders = Folders::new("signing keys");
    folders.follow([keys.path()]);
    // Triggers a first read, because the file may have changed after the keys were read.
    folders.trigger();
    loop {
        folders.changed().await;
        if let Err(error) = keys.reload() {
            let error: &dyn std::error::Error = &error;
            error!(
                error,
                "cannot read the signing keys; the previous ones stay in use"
            );
        }
        folders.follow([keys.path()]);
    }
}
