//! All flags. Their doc comments are the help texts of `-help`, without the backquotes.

use std::path::PathBuf;

use clap::{Arg, Args, Parser, builder::ValueParser};

use crate::configuration::Secret;

/// All flags.
#[derive(Debug, Parser)]
#[command(
    name = "ziggurat-tools",
    disable_help_flag = true,
    disable_version_flag = true,
    args_override_self = true
)]
pub(super) struct Flags {
    #[command(flatten)]
    pub(super) overrides: Overrides,
    #[command(flatten)]
    pub(super) description: DescriptionFlags,
    #[command(flatten)]
    pub(super) tokens: TokenFlags,
    #[command(flatten)]
    pub(super) users: UserFlags,
    #[command(flatten)]
    pub(super) knowledge: KnowledgeFlags,
}

/// Settings of the command line that override the environment and the configuration file.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct Overrides {
    /// Configuration file (default: /etc/ziggurat/ziggurat-tools.yaml, then
    /// ziggurat-tools.yaml next to the binary)
    #[arg(long, value_name = "path")]
    pub(crate) config: Option<PathBuf>,
    /// Log HTTP requests and responses, passwords and session tokens masked, and tell clients
    /// the causes of failures
    #[arg(long)]
    pub(crate) debug: Option<bool>,
    #[command(flatten)]
    pub(crate) transport: TransportFlags,
    #[command(flatten)]
    pub(crate) auth: AuthFlags,
    #[command(flatten)]
    pub(crate) database: DatabaseFlags,
    /// Connection URL after the flags.
    #[arg(skip)]
    pub(crate) database_url: Option<Secret>,
}

/// Flags for the transport to clients.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Transport (default: stdio)")]
pub(crate) struct TransportFlags {
    /// Serve HTTP \[`ZIGGURAT_HTTP_ENABLED`\]
    #[arg(long)]
    pub(crate) http: Option<bool>,
    /// Address to listen on, :port or host:port (default :8080, with -no-auth 127.0.0.1:8080)
    /// \[`ZIGGURAT_HTTP_ADDRESS`\]
    #[arg(long, value_name = "address")]
    pub(crate) addr: Option<String>,
    /// Serve HTTPS; needs -http \[`ZIGGURAT_TLS_ENABLED`\]
    #[arg(long)]
    pub(crate) tls: Option<bool>,
    /// Certificate, PEM; needs -http (default ./server.crt) \[`ZIGGURAT_TLS_CERT_FILE`\]
    #[arg(long, value_name = "path")]
    pub(crate) cert: Option<PathBuf>,
    /// Its private key, PEM; needs -http (default ./server.key) \[`ZIGGURAT_TLS_KEY_FILE`\]
    #[arg(long, value_name = "path")]
    pub(crate) key: Option<PathBuf>,
    /// Intermediate certificates, PEM; needs -http \[`ZIGGURAT_TLS_CHAIN_FILE`\]
    #[arg(long, value_name = "path")]
    pub(crate) chain: Option<PathBuf>,
}

/// Value of `-no-auth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAuth {
    /// Authentication is required.
    Off,
    /// No authentication, on loopback addresses only.
    Local,
    /// No authentication, on any address.
    Public,
}

/// Flags for authentication.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Authentication (HTTP only)")]
pub(crate) struct AuthFlags {
    /// Turn authentication off; for development only. On an address that other machines can
    /// reach, it has to be -no-auth=public \[`ZIGGURAT_AUTH_ENABLED=false`,
    /// `ZIGGURAT_HTTP_ALLOW_PUBLIC`\]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_parser = no_auth)]
    pub(crate) no_auth: Option<NoAuth>,
    /// API tokens (default: ziggurat-tools-tokens.yaml in the data folder)
    /// \[`ZIGGURAT_AUTH_TOKEN_FILE`\]
    #[arg(long, value_name = "path")]
    pub(crate) token_file: Option<PathBuf>,
    /// User accounts (default: ziggurat-tools-users.yaml in the data folder)
    /// \[`ZIGGURAT_AUTH_USER_FILE`\]
    #[arg(long, value_name = "path")]
    pub(crate) user_file: Option<PathBuf>,
}

/// The first configured database, or the one named `default`.
#[derive(Clone, Debug, Default, Args)]
#[command(
    next_help_heading = "Database (the first one configured; without any, one named default)"
)]
pub(crate) struct DatabaseFlags {
    /// Host, or the folder of a socket (default localhost) \[`ZIGGURAT_DB_HOST`, `PGHOST`\]
    #[arg(long = "db-host", value_name = "host")]
    pub(crate) host: Option<String>,
    /// Several hosts in place of one: host:port,host:port \[`ZIGGURAT_DB_HOSTS`\]
    #[arg(long = "db-hosts", value_name = "hosts")]
    pub(crate) hosts: Option<String>,
    /// Required state of the host: any, read-write, read-only, primary, standby or prefer-standby
    /// (default any) \[`ZIGGURAT_DB_TARGET_SESSION_ATTRS`\]
    #[arg(long = "db-target-session-attrs", value_name = "which")]
    pub(crate) target_session_attrs: Option<String>,
    /// Port (default 5432) \[`ZIGGURAT_DB_PORT`, `PGPORT`\]
    #[arg(long = "db-port", value_name = "port", value_parser = port)]
    pub(crate) port: Option<u16>,
    /// Database in PostgreSQL (default postgres) \[`ZIGGURAT_DB_NAME`, `PGDATABASE`\]
    #[arg(long = "db-name", value_name = "name")]
    pub(crate) database: Option<String>,
    /// Role to connect as; required \[`ZIGGURAT_DB_USER`, `PGUSER`\]
    #[arg(long = "db-user", value_name = "role")]
    pub(crate) user: Option<String>,
    /// Its password; others on this machine can read it, so prefer the environment or the
    /// password file \[`ZIGGURAT_DB_PASSWORD`, `PGPASSWORD`\]
    #[arg(id = "db-password", long, value_name = "password", value_parser = secret())]
    pub(crate) password: Option<Secret>,
    /// disable, allow, prefer, require, verify-ca or verify-full (default prefer)
    /// \[`ZIGGURAT_DB_SSLMODE`, `PGSSLMODE`\]
    #[arg(long = "db-sslmode", value_name = "mode")]
    pub(crate) sslmode: Option<String>,
    /// Client certificate, PEM; with -db-sslkey \[`ZIGGURAT_DB_SSLCERT`\]
    #[arg(long = "db-sslcert", value_name = "path")]
    pub(crate) sslcert: Option<PathBuf>,
    /// Its private key, PEM; with -db-sslcert \[`ZIGGURAT_DB_SSLKEY`\]
    #[arg(long = "db-sslkey", value_name = "path")]
    pub(crate) sslkey: Option<PathBuf>,
    /// Certificates of the authorities to trust, PEM \[`ZIGGURAT_DB_SSLROOTCERT`\]
    #[arg(long = "db-sslrootcert", value_name = "path")]
    pub(crate) sslrootcert: Option<PathBuf>,
}

/// Flags that print information and exit.
#[derive(Debug, Args)]
#[command(next_help_heading = "Description (the server does not start)")]
pub(super) struct DescriptionFlags {
    /// Print what the HTTP server offers besides MCP, as an OpenAPI document
    #[arg(long)]
    pub(super) openapi: Option<bool>,
    /// Print the version
    #[arg(long)]
    pub(super) version: Option<bool>,
    /// Print everything that is wrong with the configuration, and end with 0 or 1
    #[arg(long)]
    pub(super) check_config: Option<bool>,
}

/// Administration of API tokens.
#[derive(Debug, Args)]
#[command(next_help_heading = "Administration of API tokens (the server does not start)")]
pub(super) struct TokenFlags {
    /// Create a token and show it once; asks for what the next three leave out
    #[arg(long)]
    pub(super) add_token: Option<bool>,
    /// With -add-token: what it is for
    #[arg(long, value_name = "text")]
    pub(super) token_note: Option<String>,
    /// With -add-token: the database to bind it to (default: the first one configured)
    #[arg(long, value_name = "name")]
    pub(super) token_database: Option<String>,
    /// With -add-token: 12h, 30d, 2w, 1y or never
    #[arg(long, value_name = "duration")]
    pub(super) token_expiry: Option<String>,
    /// List the tokens, without their secret parts
    #[arg(long)]
    pub(super) list_tokens: Option<bool>,
    /// Remove the token with this id, or with this start of its hash (8 characters or more)
    #[arg(long, value_name = "id")]
    pub(super) remove_token: Option<String>,
}

/// Administration of user accounts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Administration of user accounts (the server does not start)")]
pub(super) struct UserFlags {
    /// Create an account; asks for what -username, -password and -user-note leave out
    #[arg(long)]
    pub(super) add_user: Option<bool>,
    /// Change the password or the note of an account
    #[arg(long)]
    pub(super) update_user: Option<bool>,
    /// Delete an account; asks for confirmation
    #[arg(long)]
    pub(super) delete_user: Option<bool>,
    /// List the accounts
    #[arg(long)]
    pub(super) list_users: Option<bool>,
    /// Unlock an account
    #[arg(long)]
    pub(super) enable_user: Option<bool>,
    /// Lock an account
    #[arg(long)]
    pub(super) disable_user: Option<bool>,
    /// Name of the account
    #[arg(long, value_name = "name")]
    pub(super) username: Option<String>,
    /// With -add-user and -update-user; others on this machine can read it, so prefer to be
    /// asked
    #[arg(long, value_name = "password", value_parser = secret())]
    pub(super) password: Option<Secret>,
    /// With -add-user and -update-user; "" removes a note
    #[arg(long, value_name = "text")]
    pub(super) user_note: Option<String>,
}

/// Documentation for `search_knowledgebase`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Documentation to search (the server does not start)")]
pub(super) struct KnowledgeFlags {
    /// Add the Markdown, HTML and text files of this folder to the knowledge base, with vectors by
    /// `knowledgebase.embedding_provider`; repeat for more folders. Unchanged documents are kept,
    /// and documents of this product and version that are in no folder any more are removed
    #[arg(long, value_name = "folder")]
    pub(super) build_knowledgebase: Vec<PathBuf>,
    /// With -build-knowledgebase: the product they are about; required
    #[arg(long, value_name = "name")]
    pub(super) kb_project: Option<String>,
    /// With -build-knowledgebase: its version (default: none)
    #[arg(long, value_name = "version")]
    pub(super) kb_version: Option<String>,
    /// With -build-knowledgebase: the file (default: `knowledgebase.database_path`)
    #[arg(long, value_name = "file")]
    pub(super) kb_output: Option<PathBuf>,
}

/// Returns whether a flag needs no value.
pub(super) fn is_switch(arg: &Arg) -> bool {
    arg.is_require_equals_set() || is_boolean(arg)
}

/// Returns whether a flag is boolean.
pub(super) fn is_boolean(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == ValueParser::bool().type_id()
}

/// Makes the value of a flag optional; a value needs `=`.
pub(super) fn switch(arg: Arg) -> Arg {
    arg.num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .value_parser(boolean)
}

/// Parses the accepted spellings of yes and no.
fn boolean(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false"),
    }
}

fn port(text: &str) -> Result<u16, &'static str> {
    text.parse()
        .map_err(|_| "expected a whole number from 0 to 65535")
}

fn no_auth(text: &str) -> Result<NoAuth, &'static str> {
    if text == "public" {
        return Ok(NoAuth::Public);
    }
    match boolean(text) {
        Ok(true) => Ok(NoAuth::Local),
        Ok(false) => Ok(NoAuth::Off),
        Err(_) => Err("expected true, false or public"),
    }
}

fn secret() -> ValueParser {
    ValueParser::new(|text: &str| Ok::<_, std::convert::Infallible>(Secret::from(text)))
}
