//! `cargo demo`: starts a PostgreSQL with sample data, `ziggurat-tools`, `ziggurat-rag` and
//! `ziggurat-platform` in one command.

mod accounts;
mod answers;
mod arguments;
mod clients;
mod documents;
mod home;
mod sample;
mod shop;
mod signals;
mod welcome;

use std::{
    env,
    ffi::OsString,
    io::{self, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    process::ExitCode,
};

use anyhow::Context as _;
use secrecy::ExposeSecret as _;
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
};
use tracing::Level;
use tracing_subscriber::{
    filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};
use ziggurat_runtime::{listen::HeldPort, signals::Signals};

use crate::{
    accounts::Accounts, answers::Answers, arguments::Arguments, home::Home, shop::Shop,
    welcome::Welcome,
};

/// The port where clients expect a server.
const DEFAULT_PORT: u16 = 8080;

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    if let Some(code) = documents::run(&words) {
        return code;
    }
    let outcome = match Arguments::parse(words) {
        Ok(Arguments { help: true, .. }) => print(arguments::HELP).map(|()| ExitCode::SUCCESS),
        Ok(arguments) => run(&arguments),
        Err(error) => Err(error),
    };
    outcome.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    log_errors_only();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("starting")?;
    let mut signals = {
        let _inside = runtime.enter();
        Signals::listen().context("listening to signals")?
    };
    // Both take time, so they run concurrently.
    let keep = arguments.keep.clone();
    let home = runtime.spawn_blocking(move || Home::open(keep.as_deref()));
    let shop = runtime.block_on(async {
        tokio::select! {
            shop = Shop::open(arguments.keep.as_deref()) => shop.map(Some),
            _ = signals.any() => Ok(None),
        }
    });
    // The folder is removed even if the shop failed.
    let home = runtime.block_on(home).context("making accounts")?;
    let Some(shop) = shop? else {
        // A download may still be running. It ends with the process.
        runtime.shutdown_background();
        return Ok(ExitCode::SUCCESS);
    };
    let home = home?;
    let outcome = serve(arguments, &shop, &home, &runtime, signals);
    drop(home);
    runtime.block_on(shop.close());
    if !arguments.stdio {
        print("\nStopped.\n")?;
    }
    outcome
}

/// Runs the servers until they are told to stop; if a client started the demo, only the server for
/// that client.
fn serve(
    arguments: &Arguments,
    shop: &Shop,
    home: &Home,
    runtime: &Runtime,
    signals: Signals,
) -> anyhow::Result<ExitCode> {
    let database = shop.address();
    // Held until the servers end: they bind their ports late.
    let held = HeldPort::new().and_then(|metrics| Ok((metrics, HeldPort::new()?)));
    let (metrics, questions) = held.context("looking for a port")?;
    let metrics = (!arguments.stdio).then(|| metrics.number());
    let configuration = home.configure_tools(&database, metrics)?;
    let program = env::current_exe().context("finding the program itself")?;
    let mut passing_on = JoinSet::new();
    passing_on.spawn_on(signals::pass_on(signals), runtime.handle());
    let mut words: Vec<OsString> = vec!["-config".into(), configuration.into()];
    if arguments.stdio {
        words.push("-http=false".into());
        return Ok(ziggurat_tools::run(words, |_| {}));
    }
    let address = address(arguments.port)?.to_string();
    words.extend(["-http".into(), "-addr".into(), address.into()]);
    let configuration =
        home.configure_answers(&database, &shop.writing_address(), questions.number())?;
    let folder = documents::write(home.folder()).context("writing the handbook")?;
    let loaded = documents::load(&program, &configuration, &folder)?;
    let folder = folder.display();
    let said = format!(
        "$ ziggurat-rag ingest -pipeline {} {folder}\n{loaded}",
        documents::PIPELINE
    );
    // Standard output may be closed.
    print(&said).ok();
    let answers = Answers::start(configuration)?;
    let accounts = runtime.block_on(Accounts::start(home.folder(), arguments.port.is_none()))?;
    let code = ziggurat_tools::run(words, |address| {
        let welcome = Welcome {
            address,
            answers: answers.address,
            metrics: metrics.unwrap_or_default(),
            audit: &home.audit_file(),
            token: home.token.expose_secret(),
            password: home.password.expose_secret(),
            server: shop.version(),
            program: &program,
            profile: &accounts.profile,
            kept: arguments.keep.as_deref(),
        };
        // Standard output may be closed.
        print(&welcome.to_string()).ok();
    });
    answers.end();
    accounts.end();
    Ok(code)
}

/// The port that was asked for, or the usual one, or any free one.
fn address(port: Option<u16>) -> anyhow::Result<SocketAddr> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (first, otherwise) = match port {
        Some(port) => (port, None),
        None => (DEFAULT_PORT, Some(at(0))),
    };
    match TcpListener::bind(at(first)) {
        Ok(_) => Ok(at(first)),
        Err(error) => match otherwise {
            Some(any) if error.kind() == io::ErrorKind::AddrInUse => Ok(any),
            _ => Err(error).with_context(|| {
                format!("cannot listen on 127.0.0.1:{first}; choose another with --port")
            }),
        },
    }
}

/// Keeps the log, which would hide the welcome, to what goes wrong in the server.
fn log_errors_only() {
    let filter = Targets::new()
        .with_target("ziggurat", Level::WARN)
        // It warns of provider local, and the welcome says what that is.
        .with_target("ziggurat_rag", Level::ERROR)
        .with_target("ziggurat_rag_service", Level::WARN);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false);
    tracing_subscriber::registry()
        .with(lines)
        .with(filter)
        .init();
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .context("writing to standard output")
}
