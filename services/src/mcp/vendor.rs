//! Two methods the protocol does not have: which databases there are, and choosing one.
//!
//! They say the same on every face, so their results are no business of a revision.

use bytes::Bytes;
use serde::Serialize;
use sqlx::postgres::PgSslMode;
use ziggurat_layers::json_rpc::Call;

use crate::{
    accounts::Identity,
    databases::{Configured, Databases},
    mcp::{State, params, wire, wire::Fault},
};

const LIST: &str = "svc/listDatabases";
const SELECT: &str = "svc/selectDatabase";

#[derive(Serialize)]
struct List<'a> {
    databases: Vec<Entry<'a>>,
    current: &'a str,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    host: String,
    port: u16,
    database: &'a str,
    user: &'a str,
    sslmode: &'static str,
    allow_writes: bool,
}

#[derive(Serialize)]
struct Selected<'a> {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn is_method(call: &Call) -> bool {
    [LIST, SELECT].contains(&call.method())
}

pub(super) fn answer(databases: &Databases, call: &Call) -> Result<State, Fault> {
    if call.is_notification() {
        return Ok(State::result(wire::nothing()));
    }
    let identity = call.head().extensions.get::<Identity>();
    let result = if call.method() == LIST {
        list(databases, identity)
    } else {
        select(databases, identity, &params::database(call)?)
    };
    Ok(State::result(result))
}

fn list(databases: &Databases, identity: Option<&Identity>) -> Bytes {
    let visible = databases.visible(identity);
    let current = databases.current(identity).ok();
    to_bytes(&List {
        databases: visible.iter().map(Entry::of).collect(),
        current: current.as_ref().map_or("", |current| current.label()),
    })
}

fn select(databases: &Databases, identity: Option<&Identity>, name: &str) -> Bytes {
    to_bytes(&match databases.select(identity, name) {
        Ok(()) => Selected {
            success: true,
            current: Some(name),
            message: Some("Database selected successfully"),
            error: None,
        },
        Err(error) => Selected {
            success: false,
            current: None,
            message: None,
            error: Some(error.to_string()),
        },
    })
}

// === impl Entry ===

impl<'a> Entry<'a> {
    fn of(configured: &'a Configured) -> Self {
        let settings = configured.database().settings();
        // Of several hosts the preferred one.
        let first = settings.all_hosts().swap_remove(0);
        Self {
            name: &settings.name,
            host: first.name,
            port: first.port,
            database: &settings.database,
            user: &settings.user,
            sslmode: match settings.ssl_mode {
                PgSslMode::Disable => "disable",
                PgSslMode::Allow => "allow",
                PgSslMode::Prefer => "prefer",
                PgSslMode::Require => "require",
                PgSslMode::VerifyCa => "verify-ca",
                PgSslMode::VerifyFull => "verify-full",
            },
            allow_writes: settings.allow_writes,
        }
    }
}

fn to_bytes(result: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(result).expect("text is JSON"))
}
