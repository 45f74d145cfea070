//! The first requests of a client, with which it and the server agree on a revision.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;
use ziggurat_mcp::protocol::Revision;

use crate::{
    Client,
    error::{ClientError, newest_legacy},
    message::{self, Params},
    results::ServerDescription,
    session::{Call, Session},
};

/// Time for the answer to the first modern request. Some servers that wait for `initialize` never
/// answer another request.
const PROBE_TIME: Duration = Duration::from_secs(10);

/// The newest revision that starts with `initialize`.
const LATEST_LEGACY: Revision = Revision::V2025_11_25;

/// Name and version of a server.
#[derive(Deserialize)]
struct ServerInfo {
    name: String,
    version: String,
}

// === impl Client ===

impl Client {
    /// Agrees with the server on this revision, or on the newest that both support.
    pub(crate) async fn negotiate(
        mut session: Session,
        revision: Option<Revision>,
    ) -> Result<Self, ClientError> {
        let server = match revision {
            Some(revision) if revision.is_modern() => discover(&mut session, revision).await?,
            Some(revision) => {
                let server = initialize(&mut session, revision).await?;
                if server.revision != revision {
                    return Err(ClientError::revision(server.revision.as_str()));
                }
                server
            }
            None => newest(&mut session).await?,
        };
        Ok(Self {
            session: Arc::new(session),
            server: Arc::new(server),
            on_progress: None,
        })
    }
}

/// Tries the modern revision, and then the others.
async fn newest(session: &mut Session) -> Result<ServerDescription, ClientError> {
    let probe = timeout(PROBE_TIME, discover(session, Revision::V2026_07_28)).await;
    let legacy = match probe {
        Ok(Ok(server)) => return Ok(server),
        Ok(Err(error)) => match error.supported() {
            Some(supported) => match newest_legacy(&supported) {
                Some(revision) => revision,
                None => return Err(ClientError::Revision { supported }),
            },
            None if error.may_come_from_legacy_server() => LATEST_LEGACY,
            None => return Err(error),
        },
        Err(_) => LATEST_LEGACY,
    };
    initialize(session, legacy).await
}

/// Asks a server of the modern revision about itself.
async fn discover(
    session: &mut Session,
    revision: Revision,
) -> Result<ServerDescription, ClientError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        supported_versions: Vec<String>,
        capabilities: Box<RawValue>,
        instructions: Option<String>,
        #[serde(rename = "_meta", default)]
        meta: DiscoveredMeta,
    }

    #[derive(Default, Deserialize)]
    struct DiscoveredMeta {
        #[serde(rename = "io.modelcontextprotocol/serverInfo")]
        server: Option<ServerInfo>,
    }

    session.revision = Some(revision);
    let discovered: Discovered = session.request(call("server/discover")).await?;
    let supported = discovered.supported_versions;
    if !supported.iter().any(|it| it == revision.as_str()) {
        return Err(ClientError::Revision { supported });
    }
    let server = discovered.meta.server;
    let (name, version) = server.map(|it| (it.name, it.version)).unwrap_or_default();
    Ok(ServerDescription {
        name,
        version,
        instructions: discovered.instructions,
        capabilities: discovered.capabilities,
        revision,
    })
}

/// Opens the conversation with a server of an older revision.
async fn initialize(
    session: &mut Session,
    revision: Revision,
) -> Result<ServerDescription, ClientError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
        capabilities: Box<RawValue>,
        server_info: ServerInfo,
        instructions: Option<String>,
    }

    session.revision = None;
    let params = Params {
        protocol_version: Some(revision.as_str()),
        capabilities: Some(session.capabilities(revision)),
        client_info: Some(&session.options.info),
        ..Params::default()
    };
    let initialize = Call {
        params,
        ..call("initialize")
    };
    let initialized: Initialized = session.request(initialize).await?;
    let offered = initialized.protocol_version;
    let revision = Revision::legacy(offered.as_bytes());
    let revision = revision.ok_or_else(|| ClientError::revision(&offered))?;
    session.revision = Some(revision);
    let ready = message::initialized();
    session.transport.send(session.revision, ready).await?;
    Ok(ServerDescription {
        name: initialized.server_info.name,
        version: initialized.server_info.version,
        instructions: initialized.instructions,
        capabilities: initialized.capabilities,
        revision,
    })
}

/// Makes a request without params.
pub(crate) fn call(method: &str) -> Call<'_> {
    Call {
        method,
        subject: None,
        headers: HeaderMap::new(),
        params: Params::default(),
        on_progress: None,
    }
}
