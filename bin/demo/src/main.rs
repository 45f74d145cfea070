//! `cargo demo`: a PostgreSQL with sample data, and a server in front of it, in one command.

mod arguments;
mod sample;
mod shop;
mod stack;
mod welcome;

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr},
    process::ExitCode,
};

use anyhow::Context as _;
use tokio::{net::TcpListener, signal};
use ziggurat_layers::bearer::TokenHash;
use ziggurat_services::{
    databases::{Configured, Databases},
    mcp::{
        Mcp, Resources, ServerInfo, Tools, prompts,
        tools::{QueryDatabase, ReadResource},
    },
    pg::lease::Pools,
    serve::{Limits, Server},
};

use crate::{arguments::Arguments, shop::Shop, welcome::Welcome};

/// Where clients expect a server first.
const USUAL_PORT: u16 = 8080;

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse(std::env::args_os().skip(1)) {
        Ok(Arguments { help: true, .. }) => say(arguments::HELP),
        Ok(arguments) => run(arguments).await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let listener = listen(arguments.port).await?;
    let address = listener.local_addr().context("reading the address")?;
    let shop = Shop::open(arguments.keep.as_deref()).await?;
    let token = token().context("making a token")?;

    let (pools, reaper) = Pools::new();
    let reaper = tokio::task::JoinSet::from_iter([reaper.run()]);
    let mcp = mcp(&pools, &shop)?;
    let stack = stack::build(TokenHash::of(&token), mcp);

    let welcome = Welcome {
        address,
        token: &token,
        server: shop.version(),
        kept: arguments.keep.as_deref(),
    };
    say(&welcome.to_string())?;
    Server::new(Limits::default())
        .serve(listener, stack, interrupted())
        .await
        .context("serving")?;

    // The server is gone, so are its clients: what they left goes next.
    pools.close_all();
    drop(pools);
    reaper.join_all().await;
    shop.close().await;
    say("\nStopped.\n")
}

fn mcp(pools: &Pools, shop: &Shop) -> anyhow::Result<Mcp> {
    let databases = Databases::new(pools.clone(), [Configured::new(shop.database()?)]);
    let resources = Resources::new();
    let tools = Tools::new()
        .with(QueryDatabase::new(databases))
        .with(ReadResource::new(resources.clone()));
    let about = ServerInfo::new("ziggurat-demo", env!("CARGO_PKG_VERSION"));
    Mcp::new(&about, tools, resources, prompts::built_in()).context("listing the tools")
}

/// Takes the port that was asked for, or the usual one, or any.
async fn listen(port: Option<u16>) -> anyhow::Result<TcpListener> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = match port {
        Some(port) => TcpListener::bind(at(port)).await,
        None => match TcpListener::bind(at(USUAL_PORT)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                TcpListener::bind(at(0)).await
            }
            listener => listener,
        },
    };
    listener.with_context(|| {
        let port = port.unwrap_or(USUAL_PORT);
        format!("cannot listen on 127.0.0.1:{port}; choose another with --port")
    })
}

/// 32 bytes nobody can guess.
fn token() -> io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    // A digest in hexadecimal reads like one token as well as another.
    Ok(TokenHash::from_bytes(bytes).to_string())
}

async fn interrupted() {
    let mut terminated = signal::unix::signal(signal::unix::SignalKind::terminate())
        .expect("the runtime listens to signals");
    tokio::select! {
        _ = signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

fn say(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .context("writing to standard output")
}
