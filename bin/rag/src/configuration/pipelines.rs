//! Settings of the pipelines.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use http::HeaderMap;
use ziggurat_callers::{Callers, Masks};
use ziggurat_llm::{self as llm, ModelSource, Retry, Timeouts, headers};
use ziggurat_postgres::database::{Database, Host};
use ziggurat_rag_service::retrieval::{Backend, DocumentOrder, SearchOptions, Table};
use ziggurat_runtime::config::{Section, Value};
use ziggurat_sync::SyncedTable;
use ziggurat_tokens::CallerNames;

use crate::configuration::{
    database::{self, Purpose},
    defaults::{Defaults, count},
    ingest::Ingest,
    key_files::KeyFiles,
    masks,
    model::{Block, Headers, Role, check_times, needs_model},
    rerank::Rerank,
    search,
    sync::SyncSettings,
    tables,
};

/// Limit on the length of a name.
const LONGEST_NAME: usize = 63;

/// The checked settings of a pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The callers for which it exists; `None` for all.
    pub(crate) callers: Option<CallerNames>,
    pub(crate) database: Arc<Database>,
    /// Rules for the roles of askers, if the database knows them.
    pub(crate) askers: Option<Callers>,
    /// The masked columns, if there are some.
    pub(crate) masks: Option<Masks>,
    pub(crate) tables: Vec<Table>,
    /// Loading of documents, if it is configured.
    pub(crate) ingest: Option<Ingest>,
    /// The tables with vectors that are kept in step with their texts, if there are any.
    pub(crate) sync: Option<SyncSettings>,
    pub(crate) search: SearchOptions,
    pub(crate) embedding: Model,
    pub(crate) completion: Model,
    /// The model that rewrites follow-ups, if they are rewritten; empty for the model of the
    /// answers.
    pub(crate) rewriter: Option<String>,
    pub(crate) rerank: Option<Rerank>,
    pub(crate) key_files: KeyFiles,
    pub(crate) token_budget: usize,
    pub(crate) top_n: usize,
    pub(crate) system_prompt: Option<String>,
    pub(crate) allow_include_sources: bool,
    pub(crate) allow_debug: bool,
    /// Minimum relevance of the best result, if configured.
    pub(crate) min_score: Option<f64>,
    /// The answer if nothing is found, if configured.
    pub(crate) no_answer: Option<String>,
    /// Limit on the answer, in tokens.
    pub(crate) max_tokens: u32,
    /// The sampling temperature, if configured.
    pub(crate) temperature: Option<f64>,
}

/// A model and the access to its provider: a client is rebuilt if any of this changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    pub(crate) maker: ModelSource,
    pub(crate) name: String,
    /// The folder of a static model; empty for others.
    pub(crate) path: PathBuf,
    pub(crate) base_url: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: Retry,
    /// The type of input to send to Voyage.
    pub(crate) input_type: Option<String>,
}

/// Reads the list.
pub(super) fn read(list: &Value<'_>, defaults: &Defaults) -> Vec<Pipeline> {
    let pipelines = list.list().unwrap_or_default();
    list.check(
        !pipelines.is_empty(),
        "at least one pipeline must be configured",
    );
    let mut names = BTreeSet::new();
    let pipelines: Vec<_> = pipelines
        .into_iter()
        .filter_map(|pipeline| Pipeline::read(&pipeline.into_section(), defaults, &mut names))
        .collect();
    check_synced_once(list, &pipelines);
    pipelines
}

// === impl Pipeline ===

impl Pipeline {
    /// Returns `None` after a problem was added.
    fn read(file: &Section<'_>, defaults: &Defaults, names: &mut BTreeSet<String>) -> Option<Self> {
        let is_first = names.is_empty();
        let name = name(&file.key("name"), names);
        let database = database::read(&file.section("database"), Purpose::Questions, is_first);
        let askers = Callers::read_without_users(&file.section("database"));
        let (tables, synced) = tables(&file.key("tables"));
        check_backends(file, &tables, askers.as_ref());
        let reader = database.as_ref().map(|database| &*database.settings().user);
        let section = file.section("ingest");
        let ingest = Ingest::read(&section, (&tables, &synced), reader);
        let sync = SyncSettings::read(&section, ingest.as_ref(), synced);
        let shared = defaults.headers.then(&Headers::read(file, "llm_headers"));
        let (embedding, completion) = (file.section("embedding_llm"), file.section("rag_llm"));
        let embedder = Block::read(&embedding).inherit(&defaults.embedding);
        let completer = Block::read(&completion).inherit(&defaults.completion);
        let (max_tokens, temperature) = (completer.max_tokens, completer.temperature);
        let embedding = Model::check(embedder, &embedding, Role::Embedding, &shared);
        let maker = embedding.as_ref().map(|model| model.maker);
        let search = search::read(&file.section("search"), maker);
        let tables = ordered(tables, ingest.as_ref(), sync.as_ref());
        file.section("search").key("expand").check(
            search.expand == 0 || tables.iter().any(|table| table.order.is_some()),
            "has no effect: no table has a document_column and a position_column",
        );
        let completion = Model::check(completer, &completion, Role::Completion, &shared);
        let pipeline = Self {
            name,
            description: file.key("description").text().unwrap_or_default(),
            callers: callers(file),
            masks: masks::read(file, defaults.mask_key.as_ref()),
            rewriter: rewriter(&file.section("query_rewrite")),
            rerank: Rerank::read(&file.section("rerank"), &shared),
            key_files: KeyFiles::read(&file.section("api_keys")).or(&defaults.key_files),
            token_budget: count(file, "token_budget").unwrap_or(defaults.token_budget),
            top_n: count(file, "top_n").unwrap_or(defaults.top_n),
            search,
            system_prompt: file.key("system_prompt").text(),
            allow_include_sources: file.key("allow_include_sources").boolean().unwrap_or(false),
            allow_debug: file.key("allow_debug").boolean().unwrap_or(false),
            min_score: file.key("min_score").decimal(f64::MIN..=f64::MAX),
            no_answer: file.key("no_answer").text(),
            database: database?,
            askers,
            tables,
            ingest,
            sync,
            embedding: embedding?,
            completion: completion?,
            max_tokens: max_tokens.unwrap_or(llm::MAX_TOKENS),
            temperature,
        };
        Some(pipeline)
    }

    /// Returns where the role that writes connects to.
    fn writer(&self) -> Option<(Vec<Host>, &str)> {
        let settings = self.ingest.as_ref()?.database.settings();
        Some((settings.all_hosts(), &settings.database))
    }
}

/// Returns the callers that the pipeline is for. Without the key they are all; an empty one is a
/// problem, because it might be meant for none.
fn callers(file: &Section<'_>) -> Option<CallerNames> {
    let is_given = file.names_key("for");
    is_given.then(|| CallerNames::read_with_scopes(&file.section("for")))
}

/// Returns the name of the model that rewrites follow-ups, if they are rewritten.
fn rewriter(file: &Section<'_>) -> Option<String> {
    let is_enabled = file.key("enabled").boolean().unwrap_or(false);
    let model = file.key("model").text().unwrap_or_default();
    is_enabled.then_some(model)
}

fn name(value: &Value<'_>, names: &mut BTreeSet<String>) -> String {
    let name = value.text();
    let is_given = name.is_some();
    let name = value.required(name);
    if !is_given {
        return name;
    }
    if !names.insert(name.clone()) {
        value.problem(format_args!("duplicate pipeline name: {name}"));
    }
    value.check(name.len() <= LONGEST_NAME, "must be 63 characters or fewer");
    let is_plain = |letter: u8| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, b'_' | b'-')
    };
    value.check(
        name.bytes().all(is_plain),
        "must contain only lowercase letters, digits, hyphens, and underscores (^[a-z0-9_-]+$)",
    );
    name
}

/// Returns the tables, and those with `sync: true`.
fn tables(value: &Value<'_>) -> (Vec<Table>, Vec<SyncedTable>) {
    let list = value.list().unwrap_or_default();
    value.check(!list.is_empty(), "at least one table must be configured");
    let (mut tables, mut synced) = (Vec::new(), Vec::new());
    for file in list.into_iter().map(Value::into_section) {
        let table = tables::table(&file);
        synced.extend(tables::synced(&file, &table));
        tables.push(table);
    }
    (tables, synced)
}

/// Adds a problem for each table that is searched by an extension, although its database knows the
/// askers: the scores of an extension count the rows of all of them.
fn check_backends(file: &Section<'_>, tables: &[Table], askers: Option<&Callers>) {
    let of_extension = [
        Backend::PgTextsearch,
        Backend::PgSearch,
        Backend::VchordBm25,
    ];
    for table in tables {
        if askers.is_some() && of_extension.contains(&table.keyword) {
            file.key("tables").problem(format_args!(
                "keyword_backend {} of {} and database.identity exclude each other",
                table.keyword, table.name
            ));
        }
    }
}

/// Adds a problem for each table that several pipelines keep in step: each would write the vectors
/// of its own model.
fn check_synced_once(list: &Value<'_>, pipelines: &[Pipeline]) {
    let mut seen: Vec<(&Pipeline, &SyncedTable)> = Vec::new();
    for pipeline in pipelines {
        for table in pipeline.sync.iter().flat_map(|sync| &sync.tables) {
            let is_same = |(other, known): &&(&Pipeline, &SyncedTable)| {
                let (one, other) = (pipeline.writer(), other.writer());
                known.table == table.table && one.is_some() && one == other
            };
            if let Some((other, _)) = seen.iter().find(is_same) {
                list.problem(format_args!(
                    "pipelines {} and {} both have table {} with sync: true; one may",
                    other.name, pipeline.name, table.table
                ));
            }
            seen.push((pipeline, table));
        }
    }
}

/// Adds the columns that order the rows to the table that documents are loaded into.
fn ordered(
    mut tables: Vec<Table>,
    ingest: Option<&Ingest>,
    sync: Option<&SyncSettings>,
) -> Vec<Table> {
    if let Some(Ingest { settings, .. }) = ingest {
        let name = &settings.table;
        let is_loaded = sync.is_none_or(|sync| !sync.has(&name.table));
        let mut loaded = tables.iter_mut().filter(|table| table.name == name.table);
        let loaded = loaded
            .next()
            .filter(|table| is_loaded && table.id.is_some());
        if let Some(table) = loaded {
            table.order.get_or_insert_with(|| DocumentOrder {
                document: name.columns.document_id.clone(),
                position: name.columns.metadata.clone(),
            });
        }
    }
    tables
}

// === impl Model ===

impl Model {
    /// Checks a block after inheritance; returns `None` after a problem was added.
    fn check(block: Block, file: &Section<'_>, role: Role, shared: &Headers) -> Option<Self> {
        file.key("provider").check(block.has_provider(), "required");
        let maker = block.maker(file, role);
        let needs_model = maker.is_none_or(needs_model);
        file.key("model")
            .check(block.model.is_some() || !needs_model, "required");
        file.key("model_path").check(
            block.model_path.is_some() || maker != Some(ModelSource::Static),
            "required when provider is static: the folder of the model",
        );
        check_times(file, block.request_timeout, block.per_attempt_timeout);
        let headers = merged(file, &shared.then(&block.headers));
        let maker = maker?;
        Some(Self {
            maker,
            base_url: block.base_url.or_else(|| usual_url(file, maker)),
            name: block.model.unwrap_or_default(),
            path: block.model_path.unwrap_or_default(),
            headers,
            timeouts: timeouts(block.request_timeout, block.per_attempt_timeout),
            retry: block.max_retries.map_or_else(Retry::default, Retry::times),
            input_type: match block.input_type {
                Some(text) => Some(text).filter(|text| !text.is_empty()),
                None => Some("query".to_owned()),
            },
        })
    }
}

/// Returns the time limits of a provider; zero counts as not set.
pub(super) fn timeouts(call: Option<Duration>, attempt: Option<Duration>) -> Timeouts {
    let said = |time: Option<Duration>| time.filter(|time| !time.is_zero());
    let default = Timeouts::default();
    Timeouts {
        call: said(call).unwrap_or(default.call),
        attempt: said(attempt),
    }
}

/// Merges headers; a problem with one is a problem of the key `headers`.
pub(super) fn merged(file: &Section<'_>, all: &Headers) -> HeaderMap {
    headers::merge(all.iter()).unwrap_or_else(|error| {
        file.key("headers").problem(error);
        HeaderMap::new()
    })
}

/// Returns the address of Ollama from its environment variable. Scheme and port are optional there.
fn usual_url(file: &Section<'_>, maker: ModelSource) -> Option<String> {
    if maker != ModelSource::Provider(llm::Provider::Ollama) {
        return None;
    }
    let host = file.environment().get("OLLAMA_HOST")?.trim();
    let host = host.trim_end_matches('/');
    let (scheme, host) = host.split_once("://").unwrap_or(("http", host));
    let mut url = reqwest::Url::parse(&format!("{scheme}://{host}")).ok()?;
    let has_port = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
    if !has_port && scheme == "http" {
        url.set_port(Some(11434)).ok()?;
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}
