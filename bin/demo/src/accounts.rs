//! Runs `ziggurat-platform` next to the other servers, with a profile for the command line.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::mpsc,
    thread::{self, JoinHandle},
};

use anyhow::{Context as _, bail};
use rustix::process::{self, Signal, kill_process};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use ziggurat_account_service::{ClientDraft, Owner, Store, TenantDraft};

use crate::home::write;

/// The service's address in the default profile of the command line.
const DEFAULT_PORT: u16 = 8090;

/// Lets the system choose a free port.
const ANY: &str = "127.0.0.1:0";

/// File with the credentials of the demo's client.
const CREDENTIALS: &str = "client.json";

/// The account service.
pub(crate) struct Accounts {
    running: JoinHandle<ExitCode>,
    /// The configuration of the command line.
    pub(crate) profile: PathBuf,
}

// === impl Accounts ===

impl Accounts {
    /// Starts the service with its data in this folder, and waits until it accepts connections.
    ///
    /// The first start makes a tenant and a client. The client's credentials go into a separate
    /// configuration of the command line, so the user's own profiles are not touched. If the user
    /// chose a port for the tools server, this one uses any free port.
    pub(crate) async fn start(folder: &Path, is_usual: bool) -> anyhow::Result<Self> {
        let kept = folder.join("platform");
        let (id, secret) = client(&kept).await.context("making an account")?;
        let (sender, receiver) = mpsc::channel();
        let address = if is_usual {
            usual_address()
        } else {
            ANY.to_owned()
        };
        let data = kept.clone();
        let running = thread::Builder::new()
            .name("ziggurat-platform".to_owned())
            .spawn(move || {
                let words = [
                    "-addr".into(),
                    address.into(),
                    "-data-dir".into(),
                    data.into(),
                ];
                ziggurat_platform::run(words, move |address| {
                    // The receiver lives as long as the demo.
                    sender.send(address).ok();
                })
            })
            .context("starting a thread")?;
        let Ok(address) = receiver.recv() else {
            // The service has already printed the reason.
            bail!("ziggurat-platform has not started");
        };
        let profile = folder.join("config.yaml");
        write(&profile, &configuration(address, &id, &secret)).context("writing a profile")?;
        Ok(Self { running, profile })
    }

    /// Stops it, if the signal that stopped the other servers has not done so.
    pub(crate) fn end(self) {
        kill_process(process::getpid(), Signal::TERM).ok();
        self.running.join().ok();
    }
}

/// Returns the stored client, or makes a new one for a new tenant.
async fn client(folder: &Path) -> anyhow::Result<(String, SecretString)> {
    let store = Store::open(folder).await?;
    let made = find_or_make(&store, folder).await;
    store.close().await;
    made
}

async fn find_or_make(store: &Store, folder: &Path) -> anyhow::Result<(String, SecretString)> {
    let path = folder.join(CREDENTIALS);
    if let Ok(text) = fs::read_to_string(&path) {
        let known: Value = serde_json::from_str(&text).context(CREDENTIALS)?;
        let text = |name: &str| known[name].as_str().map(str::to_owned);
        let pair = text("client_id").zip(text("client_secret"));
        let (id, secret) = pair.context(CREDENTIALS)?;
        return Ok((id, secret.into()));
    }
    let draft = TenantDraft {
        name: "Demo".to_owned(),
        ..TenantDraft::default()
    };
    let owner = Owner {
        email: "demo@localhost".to_owned(),
        first_name: Some("Demo".to_owned()),
        ..Owner::default()
    };
    let (tenant, _) = store.create_tenant(draft, &owner).await?;
    let draft = ClientDraft {
        name: "demo".to_owned(),
        description: "Made by the demo".to_owned(),
        role: None,
    };
    let made = store.create_client(tenant.id, draft).await?;
    let (id, secret) = (made.client.credential_id, made.secret);
    let written = serde_json::json!({
        "client_id": id,
        "client_secret": secret.expose_secret(),
    });
    write(&path, &written.to_string())?;
    Ok((id, secret))
}

/// Returns the usual port if it is free.
fn usual_address() -> String {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT));
    let is_free = TcpListener::bind(usual).is_ok();
    if is_free {
        usual.to_string()
    } else {
        ANY.to_owned()
    }
}

/// A configuration of the command line, with one profile.
fn configuration(address: SocketAddr, id: &str, secret: &SecretString) -> String {
    let secret = Value::from(secret.expose_secret());
    format!(
        "# Written by the demo, anew at every start.\n\
         current_profile: demo\n\
         keychain: false\n\
         profiles:\n  demo:\n    platform:\n      api_url: http://{address}\n      \
         client_id: {id}\n      client_secret: {secret}\n"
    )
}
