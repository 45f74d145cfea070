//! The transports to the server, and the openings of a client.

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

/// A connected client without capabilities.
pub(crate) type Client = RunningService<RoleClient, ()>;

/// A transport to the server.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Target {
    Http {
        url: String,
        headers: HashMap<String, String>,
        /// True if the server has more than one revision.
        #[serde(default)]
        negotiates: bool,
    },
    Lines {
        command: String,
        args: Vec<String>,
        env: HashMap<String, String>,
        /// True if the server has more than one revision for `initialize`, too.
        #[serde(default)]
        negotiates: bool,
    },
}

/// The first request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// With `initialize`.
    Initialize,
    /// `server/discover`, and `initialize` if that is unknown.
    Auto,
    /// `server/discover` only.
    Discover,
}

/// The protocol that a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Exactly revision 2024-11-05.
    Exact,
    /// A later revision with `initialize`.
    Legacy,
    /// The newest revision.
    Modern,
}

// === impl Target ===

impl Target {
    /// The openings that work with this transport.
    pub(crate) fn openings(&self) -> impl Iterator<Item = Opening> {
        let has_newest = self.protocol(Opening::Auto) == Protocol::Modern;
        let discover = has_newest.then_some(Opening::Discover);
        [Opening::Auto, Opening::Initialize]
            .into_iter()
            .chain(discover)
    }

    pub(crate) fn protocol(&self, opening: Opening) -> Protocol {
        let negotiates = match self {
            Self::Http { negotiates, .. } => *negotiates,
            Self::Lines { negotiates, .. } => *negotiates || opening != Opening::Initialize,
        };
        match opening {
            _ if !negotiates => Protocol::Exact,
            Opening::Initialize => Protocol::Legacy,
            Opening::Auto | Opening::Discover => Protocol::Modern,
        }
    }

    /// The revision that a client with this opening gets.
    pub(crate) fn revision(&self, opening: Opening) -> &'static str {
        match self.protocol(opening) {
            Protocol::Exact => "2024-11-05",
            Protocol::Legacy => "2025-11-25",
            Protocol::Modern => "2026-07-28",
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
            Self::Lines {
                command, args, env, ..
            } => {
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
