//! Settings of the pipelines.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use http::HeaderMap;
use serde::Deserialize;
use ziggurat_llm::{self as llm, Retry, Timeouts, headers};
use ziggurat_postgres::database::Database;
use ziggurat_rag_service::retrieval::{SearchOptions, Table};

use super::{
    database::RawDatabase,
    defaults::Defaults,
    findings::Place,
    key_files::{KeyFiles, RawKeyFiles},
    model::{Block, Headers, Maker, RawModel, Role},
    rerank::{RawRerank, Rerank},
    tables::{RawSearch, RawTable},
    written::{Reader, Written},
};

/// Limit on the length of a name.
const LONGEST_NAME: usize = 63;

/// A raw entry of the list.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawPipeline {
    name: Option<Written>,
    description: Option<Written>,
    database: Option<RawDatabase>,
    tables: Option<Vec<RawTable>>,
    embedding_llm: Option<RawModel>,
    rag_llm: Option<RawModel>,
    api_keys: Option<RawKeyFiles>,
    token_budget: Option<Written>,
    top_n: Option<Written>,
    system_prompt: Option<Written>,
    llm_headers: Option<BTreeMap<String, Written>>,
    allow_include_sources: Option<Written>,
    search: Option<RawSearch>,
    rerank: Option<RawRerank>,
}

/// The checked settings of a pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) database: Arc<Database>,
    pub(crate) tables: Vec<Table>,
    pub(crate) manner: SearchOptions,
    pub(crate) embedding: Model,
    pub(crate) completion: Model,
    pub(crate) rerank: Option<Rerank>,
    pub(crate) key_files: KeyFiles,
    pub(crate) token_budget: usize,
    pub(crate) top_n: usize,
    pub(crate) system_prompt: Option<String>,
    pub(crate) allow_include_sources: bool,
    /// Limit on the answer, in tokens.
    pub(crate) max_tokens: u32,
    /// The sampling temperature, if configured.
    pub(crate) temperature: Option<f64>,
}

/// A model and the access to its provider: a client is rebuilt if any of this changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    pub(crate) maker: Maker,
    pub(crate) name: String,
    pub(crate) base_url: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) patience: Timeouts,
    pub(crate) retry: Retry,
    /// The type of input to send to Voyage.
    pub(crate) input_type: Option<String>,
}

/// Checks the list.
pub(super) fn check(
    list: Vec<RawPipeline>,
    reader: &mut Reader<'_>,
    defaults: &Defaults,
) -> Vec<Pipeline> {
    let place = Place::section("pipelines");
    reader.findings.check(
        !list.is_empty(),
        &place,
        "at least one pipeline must be configured",
    );
    let mut names = BTreeSet::new();
    list.into_iter()
        .enumerate()
        .filter_map(|(index, raw)| raw.check(reader, &place.element(index), defaults, &mut names))
        .collect()
}

// === impl RawPipeline ===

impl RawPipeline {
    /// Returns `None` after a problem was added.
    fn check(
        self,
        reader: &mut Reader<'_>,
        place: &Place,
        defaults: &Defaults,
        names: &mut BTreeSet<String>,
    ) -> Option<Pipeline> {
        let at = |key: &str| place.key(key);
        let name = name(reader, &at("name"), self.name, names);
        let description = reader.text(&at("description"), self.description);
        let database = self.database.unwrap_or_default();
        let database = database.check(reader, &at("database"));
        let tables = tables(reader, &at("tables"), self.tables.unwrap_or_default());
        let own = Headers::read(reader, &at("llm_headers"), self.llm_headers);
        let shared = defaults.headers.then(&own);
        let embedding = self.embedding_llm.unwrap_or_default();
        let embedding = embedding.read(reader, &at("embedding_llm"));
        let embedding = embedding.inherit(&defaults.embedding);
        let completion = self.rag_llm.unwrap_or_default();
        let completion = completion.read(reader, &at("rag_llm"));
        let completion = completion.inherit(&defaults.completion);
        let (max_tokens, temperature) = (completion.max_tokens, completion.temperature);
        let embedding_at = at("embedding_llm");
        let embedding = Model::check(embedding, reader, &embedding_at, Role::Embedding, &shared);
        let completion_at = at("rag_llm");
        let completion = Model::check(
            completion,
            reader,
            &completion_at,
            Role::Completion,
            &shared,
        );
        let rerank = self.rerank.unwrap_or_default();
        let rerank = rerank.check(reader, &at("rerank"), &shared);
        let key_files = self.api_keys.unwrap_or_default();
        let key_files = key_files.read(reader, &at("api_keys"));
        let token_budget = reader.count(&at("token_budget"), self.token_budget);
        let top_n = reader.count(&at("top_n"), self.top_n);
        let manner = self.search.unwrap_or_default();
        let manner = manner.check(reader, &at("search"));
        let system_prompt = reader.text(&at("system_prompt"), self.system_prompt);
        let sources = reader.boolean(&at("allow_include_sources"), self.allow_include_sources);
        Some(Pipeline {
            name,
            description: description.unwrap_or_default(),
            database: database?,
            tables,
            manner,
            embedding: embedding?,
            completion: completion?,
            rerank,
            key_files: key_files.or(&defaults.key_files),
            token_budget: positive(token_budget).unwrap_or(defaults.token_budget),
            top_n: positive(top_n).unwrap_or(defaults.top_n),
            system_prompt,
            allow_include_sources: sources.unwrap_or(false),
            max_tokens: max_tokens.unwrap_or(llm::MAX_TOKENS),
            temperature,
        })
    }
}

fn positive(number: Option<usize>) -> Option<usize> {
    number.filter(|number| *number > 0)
}

fn name(
    reader: &mut Reader<'_>,
    place: &Place,
    written: Option<Written>,
    names: &mut BTreeSet<String>,
) -> String {
    let Some(name) = reader.text(place, written) else {
        reader.findings.problem(place, "required");
        return String::new();
    };
    if !names.insert(name.clone()) {
        let message = format!("duplicate pipeline name: {name}");
        reader.findings.problem(place, message);
    }
    reader.findings.check(
        name.len() <= LONGEST_NAME,
        place,
        "must be 63 characters or fewer",
    );
    let is_plain = |letter: u8| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, b'_' | b'-')
    };
    reader.findings.check(
        name.bytes().all(is_plain),
        place,
        "must contain only lowercase letters, digits, hyphens, and underscores (^[a-z0-9_-]+$)",
    );
    name
}

fn tables(reader: &mut Reader<'_>, place: &Place, list: Vec<RawTable>) -> Vec<Table> {
    reader.findings.check(
        !list.is_empty(),
        place,
        "at least one table must be configured",
    );
    let list = list.into_iter().enumerate();
    list.map(|(index, raw)| raw.check(reader, &place.element(index)))
        .collect()
}

// === impl Model ===

impl Model {
    /// Checks a block after inheritance; returns `None` after a problem was added.
    fn check(
        block: Block,
        reader: &mut Reader<'_>,
        place: &Place,
        role: Role,
        shared: &Headers,
    ) -> Option<Self> {
        let has_provider = block.has_provider();
        reader
            .findings
            .check(has_provider, &place.key("provider"), "required");
        let maker = block.maker(reader, place, role);
        let needs_model = maker.is_none_or(|maker| !maker.is_local());
        reader.findings.check(
            block.model.is_some() || !needs_model,
            &place.key("model"),
            "required",
        );
        block.check_times(reader, place);
        let headers = merged(reader, &place.key("headers"), &shared.then(&block.headers));
        let maker = maker?;
        Some(Self {
            maker,
            base_url: block.base_url.or_else(|| usual_url(reader, maker)),
            name: block.model.unwrap_or_default(),
            headers,
            patience: patience(block.request_timeout, block.per_attempt_timeout),
            retry: block.max_retries.map_or_else(Retry::default, Retry::times),
            input_type: match block.input_type {
                Some(text) => Some(text).filter(|text| !text.is_empty()),
                None => Some("query".to_owned()),
            },
        })
    }
}

/// Returns the time limits of a provider; zero counts as not set.
pub(super) fn patience(call: Option<Duration>, attempt: Option<Duration>) -> Timeouts {
    let said = |time: Option<Duration>| time.filter(|time| !time.is_zero());
    let default = Timeouts::default();
    Timeouts {
        call: said(call).unwrap_or(default.call),
        attempt: said(attempt),
    }
}

pub(super) fn merged(reader: &mut Reader<'_>, place: &Place, all: &Headers) -> HeaderMap {
    headers::merge(all.iter()).unwrap_or_else(|error| {
        reader.problem(place, &error);
        HeaderMap::new()
    })
}

/// Returns the address of Ollama from its environment variable, whose scheme and port are optional.
fn usual_url(reader: &Reader<'_>, maker: Maker) -> Option<String> {
    if maker != Maker::Provider(llm::Provider::Ollama) {
        return None;
    }
    let host = reader.around.environment.get("OLLAMA_HOST")?.trim();
    let host = host.trim_end_matches('/');
    let (scheme, host) = host.split_once("://").unwrap_or(("http", host));
    let mut url = reqwest::Url::parse(&format!("{scheme}://{host}")).ok()?;
    let has_port = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
    if !has_port && scheme == "http" {
        url.set_port(Some(11434)).ok()?;
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}
