//! The way to the server, and the ways a client opens.

use std::{collections::HashMap, fmt};

use anyhow::Result;
use rmcp::{
    ClientLifecycleMode, ClientServiceExt as _, RoleClient,
    model::ProtocolVersion,
    service::RunningService,
    transport::{
        StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde::Deserialize;
use tokio::process::Command;

/// A client without any abilities, that is connected.
pub(crate) type Client = RunningService<RoleClient, ()>;

/// The way to the server.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Door {
    Http {
        url: String,
        headers: HashMap<String, String>,
        /// Whether there is more than one revision.
        #[serde(default)]
        negotiates: bool,
    },
    Lines {
        command: String,
        args: Vec<String>,
        env: HashMap<String, String>,
    },
}

/// How a client begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// With `initialize`.
    Initialize,
    /// With `server/discover`, and if that is unknown with `initialize`.
    Auto,
    /// With `server/discover`, or not at all.
    Discover,
}

/// What a client gets to see of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// Revision 2024-11-05, to the letter.
    Exact,
    /// A later one that begins with `initialize`.
    Legacy,
    /// The newest.
    Modern,
}

// === impl Door ===

impl Door {
    /// The openings that lead anywhere here.
    pub(crate) fn openings(&self) -> impl Iterator<Item = Opening> {
        let has_newest = self.face(Opening::Auto) == Face::Modern;
        let discover = has_newest.then_some(Opening::Discover);
        [Opening::Auto, Opening::Initialize]
            .into_iter()
            .chain(discover)
    }

    pub(crate) fn face(&self, opening: Opening) -> Face {
        let negotiates = match self {
            Self::Http { negotiates, .. } => *negotiates,
            Self::Lines { .. } => opening != Opening::Initialize,
        };
        match opening {
            _ if !negotiates => Face::Exact,
            Opening::Initialize => Face::Legacy,
            Opening::Auto | Opening::Discover => Face::Modern,
        }
    }

    /// What a client that opens so ends up with.
    pub(crate) fn revision(&self, opening: Opening) -> &'static str {
        match self.face(opening) {
            Face::Exact => "2024-11-05",
            Face::Legacy => "2025-11-25",
            Face::Modern => "2026-07-28",
        }
    }

    pub(crate) async fn connect(&self, opening: Opening) -> Result<Client> {
        let mode = opening.mode();
        match self {
            Self::Http { url, headers, .. } => {
                let mut config = StreamableHttpClientTransportConfig::with_uri(&**url);
                let authorization = headers.get("Authorization");
                if let Some(token) = authorization.and_then(|it| it.strip_prefix("Bearer ")) {
                    config = config.auth_header(token);
                }
                let transport = StreamableHttpClientTransport::from_config(config);
                Ok(().serve_with_lifecycle(transport, mode).await?)
            }
            Self::Lines { command, args, env } => {
                let mut command = Command::new(command);
                command.args(args).env_clear().envs(env);
                let transport = TokioChildProcess::new(command)?;
                Ok(().serve_with_lifecycle(transport, mode).await?)
            }
        }
    }
}

// === impl Opening ===

impl Opening {
    fn mode(self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Self::Initialize => ClientLifecycleMode::Initialize,
            Self::Auto => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: None,
            },
            Self::Discover => ClientLifecycleMode::Discover { preferred_versions },
        }
    }
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initialize => "opening with `initialize`",
            Self::Auto => "opening with whatever is known",
            Self::Discover => "opening with `server/discover`",
        })
    }
}
