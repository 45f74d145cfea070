//! Serving over HTTP or standard input and output until shutdown.

use std::io;

use anyhow::Context as _;
use tokio::{net::TcpListener, time};
use tower_layer::Layer as _;
use tracing::{info, warn};
use ziggurat_calls::mcp::OverStdio;
use ziggurat_http::{MetricsPage, OptionalTls, Tls, connection_count};
use ziggurat_mcp::{
    protocol::ProtocolLayer,
    stdio::{self, Stdio},
};
use ziggurat_runtime::{listen::Listening, open_files, signals};
use ziggurat_serve::{Limits, Server};

use crate::{
    app::App,
    configuration::{Configuration, Http, Loaded},
    logs,
    reload::{Reload, Source},
    stack,
};

/// Serves until a signal arrives, or until the client on standard input is gone.
///
/// # Errors
/// Fails if the server cannot start, or loses its listener.
pub(crate) async fn serve(
    loaded: Loaded,
    source: Source,
    listening: Listening<'_>,
) -> anyhow::Result<()> {
    let stop = stopped()?;
    let mut app = App::build(&loaded).await?;
    let configuration = loaded.value;
    let readiness = app.readiness.clone();
    // Over HTTP, proxies need time to notice; on standard input there is one client, which is told.
    let delay = configuration.http.as_ref();
    let delay = delay.map(|_| configuration.limits.shutdown_delay);
    let stop = async move {
        stop.await;
        readiness.stop();
        if let Some(delay) = delay.filter(|delay| !delay.is_zero()) {
            time::sleep(delay).await;
        }
    };
    logs::log_features(&configuration);
    serve_metrics(&configuration, &mut app)?;
    let reload = Reload::new(&configuration, &mut app, source)?;
    app.run(reload.run());
    let outcome = match &configuration.http {
        Some(http) => serve_http(http, &configuration, &mut app, stop, listening).await,
        None => serve_stdio(&configuration, &app, stop).await,
    };
    app.shut_down().await;
    outcome
}

async fn serve_http(
    http: &Http,
    configuration: &Configuration,
    app: &mut App,
    stop: impl Future<Output = ()>,
    listening: Listening<'_>,
) -> anyhow::Result<()> {
    let mut limits = Limits::default();
    limits.max_connections = open_files::room_for(
        configuration.limits.max_connections,
        "limits.max_connections",
    );
    limits.header_timeout = configuration.limits.header_timeout;
    limits.body_timeout = configuration.limits.body_timeout;
    limits.shutdown_grace = configuration.limits.shutdown_grace;
    let tls = http.tls.as_ref().map(Tls::open);
    let server = Server::new(limits)
        .with_connection_count(connection_count(&app.observation.calls.metrics))
        .with_cut_off(app.cut_off.clone())
        .with_acceptor(OptionalTls(tls.transpose()?));
    let listeners = http.address.listen();
    let listeners = listeners.with_context(|| format!("cannot listen on {}", http.address))?;
    let bound = listeners.iter().map(TcpListener::local_addr);
    let bound: Vec<_> = bound
        .collect::<Result<_, _>>()
        .context("reading the address")?;
    let address = *bound.first().context("no address to listen on")?;
    let sign_in = app.start_sign_in(http, configuration, address).await?;
    let tower = stack::build(http, configuration, address, app, sign_in)?;
    if app.accounts.is_some() {
        info!("Authentication: ENABLED");
    } else {
        warn!("Authentication: DISABLED (warning: server is not secured)");
    }
    let scheme = if http.tls.is_some() { "https" } else { "http" };
    for address in bound {
        info!("listening on {scheme}://{address}");
    }
    listening(address);
    server
        .serve(listeners, tower, stop)
        .await
        .context("cannot accept connections")
}

async fn serve_stdio(
    configuration: &Configuration,
    app: &App,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    info!("Mode: STDIO");
    let mut limits = stdio::Limits::default();
    limits.max_line_bytes = configuration
        .limits
        .max_body_bytes
        .try_into()
        .unwrap_or(usize::MAX);
    let served = Stdio::new()
        .with_limits(limits)
        .with_extension(OverStdio)
        .with_cut_off(app.cut_off.clone())
        .serve_process(
            ProtocolLayer::stdio()
                .with_negotiation(configuration.protocol.stdio_negotiate)
                .layer(app.catalogue.clone()),
            stop,
        )
        .await;
    match served {
        // A client that closes the pipe ends the session, which is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        served => served.context("cannot read or write messages"),
    }
}

/// Resolves when a signal asks the process to end.
fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    let stop = signals::stop().context("cannot listen to signals")?;
    Ok(async move {
        stop.await;
        info!("shutting down");
    })
}

/// Serves the page of metrics, if there is one.
///
/// # Errors
/// Fails if the server cannot listen on the address.
fn serve_metrics(configuration: &Configuration, app: &mut App) -> anyhow::Result<()> {
    let page = MetricsPage::listen(&configuration.telemetry, &app.observation.calls.metrics)?;
    if let Some(page) = page {
        app.run(page.serve());
    }
    Ok(())
}
