//! Serving the tools over standard input and output.

use std::{ffi::OsString, io, path::PathBuf, pin::pin, time::Duration};

use anyhow::Context as _;
use tokio::time;
use tower::Layer as _;
use tracing::{info, warn};
use ziggurat_layers::shutdown::CutOff;
use ziggurat_mcp::{protocol::ProtocolLayer, stdio::Stdio};
use ziggurat_rag_service::mcp::OverStdio;
use ziggurat_runtime::flags::{Flag, Flags, Refusal};

use crate::{
    arguments::Command,
    commands,
    configuration::{ConfigSources, Loaded, Server},
    secrets::Secrets,
    serving::{Started, folder, stopped},
    stack,
};

/// Time that documents are loaded before the first message is read: clients wait about as long.
const PATIENCE: Duration = Duration::from_secs(10);

/// The flags of the command `stdio`.
pub(crate) const FLAGS: &[Flag] = &[
    Flag::path("config", "PATH", "configuration file"),
    Flag::path(
        "model",
        "PATH",
        "with a folder: the folder of a static model, in place of vectors of words",
    ),
    Flag::switch("help", "print this help, and exit"),
];

/// Beginning of the help of `stdio`.
pub(crate) const HEAD: &str = "
Usage: ziggurat-rag stdio [flags] [FOLDER...]

Serves the pipelines as tools over standard input and output, for a client that starts its servers.
With folders it needs no configuration file: it loads their documents into a table of the database
in DATABASE_URL, and serves them. The log is on standard error.

";

/// The options of the command `stdio`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StdioOptions {
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) model: Option<PathBuf>,
}

/// Returns the command.
pub(crate) fn stdio_command(flags: &Flags, rest: &[OsString]) -> Result<Command, Refusal> {
    let options = StdioOptions {
        folders: rest.iter().map(PathBuf::from).collect(),
        model: flags.path("model"),
    };
    if options.folders.is_empty() && options.model.is_some() {
        return Err(Refusal::Leftover("-model (it is for a folder)".to_owned()));
    }
    if !options.folders.is_empty() && flags.is_given("config") {
        let refusal = "-config (a folder is served without a configuration file)";
        return Err(Refusal::Leftover(refusal.to_owned()));
    }
    Ok(Command::ServeStdio(options))
}

/// Serves until the input ends or a shutdown signal comes. The documents of folders are loaded
/// first, or meanwhile if that takes long.
///
/// # Errors
/// Fails if the server cannot start, if documents cannot be loaded, or if messages cannot be read or
/// written.
pub(crate) async fn serve(
    loaded: Loaded,
    sources: ConfigSources,
    secrets: Secrets,
    folders: Vec<PathBuf>,
) -> anyhow::Result<()> {
    let stop = stopped()?;
    // The client has started this process: it is the local caller, and needs no token.
    let server = Server {
        auth: None,
        ..loaded.value.server.clone()
    };
    let (configuration, environment) = (loaded.value.clone(), sources.clone());
    let loading = commands::pooled(async |pools| {
        folder::load(pools, &configuration, &environment, folders).await
    });
    let mut loading = pin!(loading);
    let is_loaded = match time::timeout(PATIENCE, &mut loading).await {
        Ok(loaded) => loaded.map(|()| true)?,
        Err(_) => false,
    };
    let mut started = Started::new(loaded, sources, secrets, &server)?;
    let cut_off = CutOff::default();
    let calls = &started.observed.calls;
    let options = stack::options(&server, &started.app, &cut_off, calls);
    let tools = started.app.tools(options, started.configuration.mcp);
    let protocol = ProtocolLayer::stdio().with_negotiation(true);
    let stdio = Stdio::new().with_extension(OverStdio).with_cut_off(cut_off);
    info!("serving over standard input and output");
    let serving = async {
        let mut serving = pin!(stdio.serve_process(protocol.layer(tools), stop));
        if !is_loaded {
            tokio::select! {
                ended = &mut serving => return ended,
                loaded = &mut loading => if let Err(error) = loaded {
                    let error = format!("{error:#}");
                    warn!(error, "documents could not be loaded");
                }
            }
        }
        serving.await
    };
    let outcome = started.until(serving).await;
    started.shut_down().await;
    match outcome {
        // A client that closes the pipe ends the session, which is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot read or write messages"),
    }
}
