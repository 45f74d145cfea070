//! Flags of the commands that write a configuration.

use std::{path::PathBuf, str::FromStr};

use thiserror::Error;
use ziggurat_runtime::flags::Flags;

use crate::arguments::Refusal;

/// Wishes for a new configuration. The administrator is asked for missing ones.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) admin_url_file: Option<PathBuf>,
    pub(crate) role: Option<String>,
    pub(crate) schemas: Option<String>,
    pub(crate) writes: Option<bool>,
    pub(crate) transport: Option<TransportKind>,
    pub(crate) admission: Option<Admission>,
    pub(crate) folder: PathBuf,
    /// True if the statements for the role are run without a question.
    pub(crate) applies: bool,
}

/// Way of clients to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportKind {
    /// A client starts the server.
    Stdio,
    /// Clients call it over HTTP.
    Http,
}

/// Clients that an HTTP server admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Those with an API token.
    Tokens,
    /// Those that people have allowed with a browser, and those with an API token.
    SignIn,
    /// All on this machine.
    Local,
}

/// A client of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientName {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    VsCode,
    Codex,
    ClaudeAi,
    ChatGpt,
}

/// The words that are expected in the place of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct Expected(&'static str);

// === impl Asked ===

impl Asked {
    /// Reads the flags.
    ///
    /// # Errors
    /// Fails on a word that is not one of those expected.
    pub(super) fn of_flags(flags: &Flags) -> Result<Self, Refusal> {
        let transport = word(flags, "init-transport")?;
        let admission = word(flags, "init-auth")?;
        if admission.is_some() && transport == Some(TransportKind::Stdio) {
            return Err(Refusal::conflict(
                "-init-auth goes with -init-transport http",
            ));
        }
        let writes = "init-writes";
        Ok(Self {
            admin_url_file: flags.path("init-admin-url-file"),
            role: flags.owned("init-role"),
            schemas: flags.owned("init-schemas"),
            writes: flags.is_given(writes).then(|| flags.has(writes)),
            transport,
            admission,
            folder: flags.path("init-dir").unwrap_or_else(|| ".".into()),
            applies: flags.has("init-apply"),
        })
    }
}

/// Parses the word of a flag.
pub(super) fn word<T: FromStr<Err = Expected>>(
    flags: &Flags,
    name: &'static str,
) -> Result<Option<T>, Refusal> {
    let Some(word) = flags.text(name) else {
        return Ok(None);
    };
    let refused = |expected| Refusal::value(word, &format!("-{name}"), expected);
    word.parse().map(Some).map_err(refused)
}

impl FromStr for TransportKind {
    type Err = Expected;

    fn from_str(word: &str) -> Result<Self, Expected> {
        match word {
            "stdio" => Ok(Self::Stdio),
            "http" => Ok(Self::Http),
            _ => Err(Expected("stdio or http")),
        }
    }
}

impl FromStr for Admission {
    type Err = Expected;

    fn from_str(word: &str) -> Result<Self, Expected> {
        match word {
            "tokens" => Ok(Self::Tokens),
            "sign-in" => Ok(Self::SignIn),
            "none" => Ok(Self::Local),
            _ => Err(Expected("tokens, sign-in or none")),
        }
    }
}

impl FromStr for ClientName {
    type Err = Expected;

    fn from_str(word: &str) -> Result<Self, Expected> {
        Ok(match word {
            "claude-desktop" => Self::ClaudeDesktop,
            "claude-code" => Self::ClaudeCode,
            "cursor" => Self::Cursor,
            "vscode" => Self::VsCode,
            "codex" => Self::Codex,
            "claude-ai" => Self::ClaudeAi,
            "chatgpt" => Self::ChatGpt,
            _ => {
                return Err(Expected(
                    "claude-desktop, claude-code, cursor, vscode, codex, claude-ai or chatgpt",
                ));
            }
        })
    }
}
