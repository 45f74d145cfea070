//! Configuration of the server, from the command line, the environment and a file.
//!
//! Each setting is looked up in that order and has a default. The process environment and the
//! location of the program are never read here: both come in as [`ConfigSources`].

mod auth;
mod builtins;
pub(crate) mod changes;
mod client_ip;
mod databases;
mod dba;
mod embedding;
#[cfg(test)]
mod fixture;
mod http;
mod knowledgebase;
mod limits;
mod llm;
mod logs;
mod masking;
mod provider;
mod results;
mod schema;
pub(crate) mod shown;
pub(crate) mod start;
mod state;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use ziggurat_answers::ResultFormat;
use ziggurat_callers::{Callers, EMAIL, EMAIL_VERIFIED};
use ziggurat_calls::toolsets::Toolsets;
use ziggurat_postgres_tools::ConnectionUrls;
use ziggurat_runtime::{
    Places,
    config::{self, Input, Section, Value},
};
use ziggurat_state::StateSettings;
use ziggurat_tokens::{Identities, issuer::TrustedIssuer};

pub(crate) use ziggurat_http::{SqlCommentKind, TelemetrySettings};
pub(crate) use ziggurat_runtime::{
    Address, ConfigSources,
    config::{LoadError, Sources},
    file::FileError,
};

pub(crate) use self::{
    auth::Auth,
    builtins::{BUILTIN_PROMPTS, Builtins, tool_names},
    databases::Entry,
    embedding::{Embedding, Vectors},
    http::Http,
    knowledgebase::Knowledgebase,
    limits::Limits,
    llm::{HOSTED, Llm},
    logs::Logs,
    schema::SchemaAnswers,
};
use crate::arguments::Overrides;

/// Name of the file.
pub(crate) const FILE: &str = "ziggurat-tools.yaml";

/// Prefix of all variables of Ziggurat.
const PREFIX: &str = "ZIGGURAT_";

/// File of the conversations, which shows that a folder is in use.
const CONVERSATIONS: &str = "conversations.db";

/// Keys of the older implementation that have no effect here.
const IGNORED_KEYS: &[&str] = &[
    "databases[].pool_health_check_period",
    "databases[].allow_llm_switching",
    "databases[].allowed_pl_languages",
    "trace_file",
    "trace_metadata_only",
];

/// Checked configuration of the server.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    /// HTTP settings; none if the server uses standard input and output.
    pub(crate) http: Option<Http>,
    /// Authentication over HTTP.
    pub(crate) auth: Auth,
    /// The databases; the first is the default.
    pub(crate) databases: Vec<Entry>,
    /// Embedding settings.
    pub(crate) embedding: Embedding,
    /// Language model settings.
    pub(crate) llm: Llm,
    /// Settings of the knowledge base.
    pub(crate) knowledgebase: Knowledgebase,
    /// Built-in tools, resources and prompts that are switched off.
    pub(crate) builtins: Builtins,
    /// Form of the values in the texts of results.
    pub(crate) results: ResultFormat,
    /// Settings of answers about the schema.
    pub(crate) schema: SchemaAnswers,
    /// Limits for clients.
    pub(crate) limits: Limits,
    /// Limits by identity.
    pub(crate) callers: ziggurat_calls::limits::Settings,
    /// Names that callers see; none if they see everything.
    pub(crate) toolsets: Option<Toolsets>,
    /// True if there are tools for administrators.
    pub(crate) dba: bool,
    /// Facts about callers that parameters of SQL tools are filled with.
    pub(crate) identities: Identities,
    /// True if plans show numbers of rows, also where row security holds for the caller.
    pub(crate) shows_plans: bool,
    /// Features for newer protocol revisions.
    pub(crate) protocol: Protocol,
    /// Database in which replicas share their state, if there are several.
    pub(crate) state: Option<StateSettings>,
    /// Settings of the audit trail, if there is one.
    pub(crate) audit: Option<ziggurat_audit::Settings>,
    /// Settings of receipts.
    pub(crate) receipts: ziggurat_receipts::Settings,
    /// Settings of metrics and traces.
    pub(crate) telemetry: TelemetrySettings,
    /// Kind of the comments in statements.
    pub(crate) sql_comment: SqlCommentKind,
    /// Log levels and format.
    pub(crate) logs: Logs,
    /// True if requests are logged, and clients get the causes of failures.
    pub(crate) debug: bool,
    /// File with the secret that signs confirmation state, so that any replica accepts it.
    pub(crate) secret_file: Option<PathBuf>,
    /// File with the operator's custom resources and prompts.
    pub(crate) custom_definitions: Option<PathBuf>,
    /// Folder of the server's data.
    pub(crate) data_folder: PathBuf,
}

/// Features for newer protocol revisions, which the older implementation does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Protocol {
    /// True if `initialize` on standard input negotiates the revision.
    pub(crate) stdio_negotiate: bool,
    /// True if rows, plans and passages are also sent as structured JSON.
    pub(crate) structured_output: bool,
    /// True if the tool and the resources of server-postgres are offered too.
    pub(crate) server_postgres: bool,
}

/// Checked configuration, with its path and warnings.
pub(crate) type Loaded = config::Loaded<Configuration>;

// === impl Configuration ===

impl Configuration {
    /// Switches connection URLs off where a database knows its callers: a URL would lead past that.
    fn with_known_callers(mut self, file: &Section<'_>) -> Self {
        let kept = self.identities.claims.names();
        let keeps = |name: &str| kept.iter().any(|it| it == name);
        if keeps(EMAIL) && !keeps(EMAIL_VERIFIED) {
            let by_email = |it: &&Entry| it.callers.as_ref().is_some_and(Callers::goes_by_email);
            for entry in self.databases.iter().filter(by_email) {
                let name = entry.database.name();
                file.complain(format_args!(
                    "database '{name}': identity: {EMAIL} needs {EMAIL_VERIFIED}"
                ));
            }
        }
        let has_masks = self.has_masks();
        let urls = &mut self.builtins.connection_urls;
        let knows_callers = self.databases.iter().any(|it| it.callers.is_some());
        if (knows_callers || has_masks) && *urls != ConnectionUrls::Off {
            if *urls != ConnectionUrls::Configured {
                let why = if knows_callers {
                    "a database knows its callers"
                } else {
                    "columns are masked"
                };
                file.warn(format!("builtins.connection_urls is off, since {why}"));
            }
            *urls = ConnectionUrls::Off;
        }
        self
    }

    /// Loads the configuration. To reload it, call this again with the same arguments.
    ///
    /// Reads files, and may therefore block; does not use the network.
    ///
    /// # Errors
    /// Fails if a file named with `-config` is missing, on a file that cannot be parsed, and on
    /// invalid settings.
    pub(crate) fn load(
        overrides: &Overrides,
        sources: &ConfigSources,
    ) -> Result<Loaded, LoadError> {
        let flags = &overrides.flags;
        let input = Input::new(sources, flags).with_ignored(IGNORED_KEYS);
        let path = input.find(flags.path("config").as_deref(), FILE);
        let mut loaded = input.load(path.as_deref(), |file| read(file, overrides))?;
        if path.is_none() {
            [_, loaded.path] = sources.usual_files(FILE);
        }
        loaded
            .warnings
            .extend(loaded.value.warn_of_unused_flags(overrides));
        Ok(loaded)
    }

    /// Returns whether columns of a database are masked, for some callers at least. Literals in the
    /// statements of others may be their values.
    pub(crate) fn has_masks(&self) -> bool {
        self.databases.iter().any(|it| it.masks.is_some())
    }

    /// Returns whether clients get the causes of failed connections. Over standard input and output
    /// the operator is the client.
    pub(crate) fn tells_causes(&self) -> bool {
        self.debug || self.http.is_none()
    }

    /// Warns of flags that have no effect.
    fn warn_of_unused_flags(&self, overrides: &Overrides) -> Option<String> {
        let mut files = ["cert", "key", "chain"].into_iter();
        let has_files = files.any(|name| overrides.flags.is_given(name));
        let has_tls = self.http.as_ref().is_some_and(|http| http.tls.is_some());
        (has_files && !has_tls)
            .then(|| "-cert, -key and -chain have no effect without -tls".to_owned())
    }
}

impl Protocol {
    fn read(file: &Section<'_>, is_child: bool) -> Self {
        let section = file.section("mcp");
        let negotiate = section.key("stdio_negotiate").flag("negotiate");
        let structured = section.key("structured_output").boolean();
        Self {
            stdio_negotiate: negotiate.boolean().unwrap_or(is_child),
            structured_output: structured.unwrap_or(false),
            server_postgres: compat(file),
        }
    }
}

/// Returns whether the server stands in for server-postgres.
fn compat(file: &Section<'_>) -> bool {
    let key = file.section("compat").key("server_postgres");
    let key = key.var("ZIGGURAT_COMPAT_SERVER_POSTGRES").flag("compat");
    let flag = file.flags().text("compat");
    key.check(
        flag.is_none_or(|server| server == "server-postgres"),
        "needs -compat server-postgres: no other server is known",
    );
    key.boolean().unwrap_or(false)
}

/// Reads the settings of the audit trail, if there is one.
fn audit(
    file: &Section<'_>,
    databases: &[Entry],
    folder: &Path,
) -> Option<ziggurat_audit::Settings> {
    let trail = ziggurat_audit::Settings::read(file)?;
    Some(ziggurat_audit::Settings {
        state_folder: Some(folder.to_owned()),
        statement: masking::recorded(file, databases, trail.statement),
        ..trail
    })
}

fn read(file: &Section<'_>, overrides: &Overrides) -> Configuration {
    file.warn_of_unreadable(&[PREFIX, "PG"]);
    let (url, is_debug) = (
        overrides.database_url.as_ref(),
        overrides.flags.has("debug"),
    );
    let path = |key: &str, variable: &str| file.key(key).var(variable).path();
    let data_dir = file.key("data_dir").var("ZIGGURAT_DATA_DIR");
    let data_dir = data_dir.flag("data-dir");
    let places = Places::of(file.sources(), data_dir.path(), "data");
    let http = file.section("http");
    let limits = file.section("limits");
    let auth = http.section("auth");
    let has_auth = auth::is_enabled(&auth);
    // A connection URL alone is for a client that starts the server as a child process.
    let is_child = url.is_some() && !overrides.flags.is_given("http");
    let (dba, toolsets) = dba::read(file, Toolsets::read(file, &BUILTIN_PROMPTS));
    let mut auth = auth::read(&auth, has_auth, &places);
    let issuer_url = auth.issuer.as_ref().map(TrustedIssuer::public_url);
    let http = http::read(&http, has_auth, is_child, issuer_url);
    auth.check_sign_in(file, http.as_ref(), is_child);
    let tells_causes = is_debug || http.is_none();
    let tells_causes = overrides.tells_causes.unwrap_or(tells_causes);
    let limits_of_clients = Limits::read(&limits);
    let defaults = databases::defaults(tells_causes, &limits_of_clients);
    let data_folder = places.data_folder(&data_dir, CONVERSATIONS);
    let mut databases = databases::read(&file.key("databases"), url, &defaults);
    masking::read(file, &mut databases);
    let configuration = Configuration {
        http,
        auth,
        audit: audit(file, &databases, &data_folder),
        databases,
        embedding: Embedding::read(&file.section("embedding")),
        llm: Llm::read(&file.section("llm")),
        knowledgebase: Knowledgebase::read(&file.section("knowledgebase")),
        builtins: builtins::read(&file.section("builtins")),
        results: results::read(&file.section("results")),
        schema: SchemaAnswers::read(&file.section("schema")),
        limits: limits_of_clients,
        callers: ziggurat_calls::limits::Settings::read(&limits),
        toolsets,
        dba,
        identities: Identities::read(file),
        shows_plans: shows_plans(&file.section("identity").key("explain")),
        protocol: Protocol::read(file, is_child),
        state: state::read(&file.section("state")),
        receipts: ziggurat_receipts::Settings::read(file),
        telemetry: TelemetrySettings::read(file).with_providers(file),
        sql_comment: SqlCommentKind::read(file),
        logs: Logs::read(file),
        debug: is_debug,
        secret_file: path("secret_file", "ZIGGURAT_SECRET_FILE"),
        custom_definitions: file
            .key("custom_definitions_path")
            .var("ZIGGURAT_CUSTOM_DEFINITIONS_PATH")
            .resolved_path(),
        data_folder,
    };
    file.warn_of_variables(PREFIX);
    configuration.with_known_callers(file)
}

/// Reads the form of plans.
fn shows_plans(key: &Value<'_>) -> bool {
    let read = |text: &str| match text {
        "shape" => Ok(false),
        "full" => Ok(true),
        _ => Err("must be shape or full"),
    };
    key.parsed(read) == Some(true)
}
