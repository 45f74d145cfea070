//! The wishes of the administrator, from flags and from questions.

use std::{fs, path::PathBuf, str::FromStr};

use secrecy::ExposeSecret as _;
use thiserror::Error;
use ziggurat_runtime::{
    Secret,
    console::{Console, ConsoleError},
};

use crate::arguments::{Admission, Asked, Expected, TransportKind};

/// Maximum size of the file with a connection URL.
const MAX_URL: usize = 16 << 10;

/// The whole wish.
pub(super) struct Answers {
    pub(super) admin_url: Secret,
    pub(super) role: String,
    pub(super) schemas: Vec<String>,
    pub(super) writes: bool,
    pub(super) transport: Transport,
    pub(super) folder: PathBuf,
    pub(super) applies: bool,
}

/// Way of clients to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Stdio,
    Http(Admission),
}

/// Reason to refuse the answers.
#[derive(Debug, Error)]
pub(crate) enum Unclear {
    #[error("without a terminal, -init needs {0}")]
    Missing(String),
    #[error("invalid value '{value}' for '{flag}': expected {expected}")]
    Value {
        value: String,
        flag: &'static str,
        expected: Expected,
    },
    #[error("-init-admin-url-file: {0}")]
    UrlFile(std::io::Error),
    #[error("-init-admin-url-file: the file is larger than a connection URL")]
    LargeUrl,
    #[error(transparent)]
    Console(#[from] ConsoleError),
}

// === impl Answers ===

impl Answers {
    /// Asks for the rest on a terminal.
    ///
    /// # Errors
    /// Fails without a terminal, with the names of the missing flags.
    pub(super) fn complete(asked: Asked, console: &mut Console<'_>) -> Result<Answers, Unclear> {
        if !console.is_terminal {
            check_whole(&asked)?;
        }
        let admin_url = if let Some(path) = &asked.admin_url_file {
            read_url(path)?
        } else {
            let question = "Connection URL of an administrator of the database, used once \
                                (postgres://user:password@host/database): ";
            let url = console.ask_secret(question, "URL", "-init-admin-url-file")?;
            Secret::from(url.expose_secret())
        };
        let mut or_ask = |given: Option<String>, question: &str, usual: &str| {
            let answer = match given {
                Some(given) => given,
                None => console.ask(&format!("{question} ({usual}): "))?,
            };
            let answer = answer.trim();
            Ok::<_, ConsoleError>(if answer.is_empty() { usual } else { answer }.to_owned())
        };
        let role = or_ask(asked.role, "Role to connect as", "ziggurat_reader")?;
        let schemas = or_ask(asked.schemas, "Schemas to read, with commas", "public")?;
        let writes = match asked.writes {
            Some(writes) => writes,
            None => or_ask(None, "May the role change data? yes or no", "no")? == "yes",
        };
        let kind = if let Some(kind) = asked.transport {
            kind
        } else {
            let question = "Transport: stdio (a client starts the server) or http";
            parsed("-init-transport", &or_ask(None, question, "stdio")?)?
        };
        let transport = match (kind, asked.admission) {
            (TransportKind::Stdio, _) => Transport::Stdio,
            (TransportKind::Http, Some(admission)) => Transport::Http(admission),
            (TransportKind::Http, None) => {
                let question = "Callers over HTTP: tokens, sign-in with a browser, or none for all on this machine";
                let answer = or_ask(None, question, "tokens")?;
                Transport::Http(parsed("-init-auth", &answer)?)
            }
        };
        let schemas = schemas.split(',').map(|name| name.trim().to_owned());
        Ok(Answers {
            admin_url,
            role,
            schemas: schemas.filter(|name| !name.is_empty()).collect(),
            writes,
            transport,
            folder: asked.folder,
            applies: asked.applies,
        })
    }

    /// Returns whether people sign in with a browser.
    pub(super) fn has_sign_in(&self) -> bool {
        self.transport == Transport::Http(Admission::SignIn)
    }

    /// Returns whether clients need a token.
    pub(super) fn needs_token(&self) -> bool {
        self.transport == Transport::Http(Admission::Tokens)
    }
}

/// Fails if a question has no flag.
fn check_whole(asked: &Asked) -> Result<(), Unclear> {
    let needs_auth = asked.transport == Some(TransportKind::Http);
    let given = [
        ("-init-admin-url-file", asked.admin_url_file.is_some()),
        ("-init-role", asked.role.is_some()),
        ("-init-schemas", asked.schemas.is_some()),
        ("-init-writes", asked.writes.is_some()),
        ("-init-transport", asked.transport.is_some()),
        ("-init-auth", asked.admission.is_some() || !needs_auth),
    ];
    let missing = given.iter().filter(|(_, is_given)| !is_given);
    let missing: Vec<_> = missing.map(|(flag, _)| *flag).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Unclear::Missing(missing.join(", ")))
}

fn read_url(path: &PathBuf) -> Result<Secret, Unclear> {
    let text = fs::read_to_string(path).map_err(Unclear::UrlFile)?;
    if text.len() > MAX_URL {
        return Err(Unclear::LargeUrl);
    }
    Ok(Secret::from(text.trim()))
}

fn parsed<T: FromStr<Err = Expected>>(flag: &'static str, word: &str) -> Result<T, Unclear> {
    let value = || word.to_owned();
    word.parse().map_err(|expected| Unclear::Value {
        value: value(),
        flag,
        expected,
    })
}
