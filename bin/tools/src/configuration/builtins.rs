//! Built-in tools, resources and prompts that are switched on.

use serde::{Deserialize, de::IgnoredAny};
use ziggurat_postgres_tools::ConnectionUrls;

use super::{
    Invalid,
    environment::{Reader, set},
};

/// Section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawBuiltins {
    tools: Option<RawTools>,
    resources: Option<RawResources>,
    prompts: Option<RawPrompts>,
    connection_urls: Option<RawConnectionUrls>,
    connection_url_hosts: Option<Vec<String>>,
}

/// `auto`, or a boolean.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RawConnectionUrls {
    Switch(bool),
    Word(String),
    Other(IgnoredAny),
}

/// Section as written.
#[derive(Debug, Default, Deserialize)]
struct RawTools {
    query_database: Option<bool>,
    get_schema_info: Option<bool>,
    similarity_search: Option<bool>,
    execute_explain: Option<bool>,
    generate_embedding: Option<bool>,
    search_knowledgebase: Option<bool>,
    count_rows: Option<bool>,
}

/// Section as written.
#[derive(Debug, Default, Deserialize)]
struct RawResources {
    system_info: Option<bool>,
}

/// Section as written.
#[derive(Debug, Default, Deserialize)]
struct RawPrompts {
    explore_database: Option<bool>,
    setup_semantic_search: Option<bool>,
    diagnose_query_issue: Option<bool>,
    design_schema: Option<bool>,
}

/// Tools, resources and prompts that are switched off, by their names in the protocol; all others
/// are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Builtins {
    /// Tools, such as `count_rows`.
    pub(crate) tools_off: Vec<&'static str>,
    /// Resources, such as `pg://system_info`.
    pub(crate) resources_off: Vec<&'static str>,
    /// Prompts, such as `explore-database`.
    pub(crate) prompts_off: Vec<&'static str>,
    /// Servers that a connection URL in the text of a query may name.
    pub(crate) connection_urls: ConnectionUrls,
}

// === impl RawBuiltins ===

impl RawBuiltins {
    pub(super) fn overlay(&mut self, reader: &mut Reader<'_>) {
        let tools = self.tools.get_or_insert_default();
        let resources = self.resources.get_or_insert_default();
        let prompts = self.prompts.get_or_insert_default();
        for (kind, name, switch) in [
            ("TOOL", "QUERY_DATABASE", &mut tools.query_database),
            ("TOOL", "GET_SCHEMA_INFO", &mut tools.get_schema_info),
            ("TOOL", "SIMILARITY_SEARCH", &mut tools.similarity_search),
            ("TOOL", "EXECUTE_EXPLAIN", &mut tools.execute_explain),
            ("TOOL", "GENERATE_EMBEDDING", &mut tools.generate_embedding),
            (
                "TOOL",
                "SEARCH_KNOWLEDGEBASE",
                &mut tools.search_knowledgebase,
            ),
            ("TOOL", "COUNT_ROWS", &mut tools.count_rows),
            ("RESOURCE", "SYSTEM_INFO", &mut resources.system_info),
            ("PROMPT", "EXPLORE_DATABASE", &mut prompts.explore_database),
            (
                "PROMPT",
                "SETUP_SEMANTIC_SEARCH",
                &mut prompts.setup_semantic_search,
            ),
            (
                "PROMPT",
                "DIAGNOSE_QUERY_ISSUE",
                &mut prompts.diagnose_query_issue,
            ),
            ("PROMPT", "DESIGN_SCHEMA", &mut prompts.design_schema),
        ] {
            set(
                switch,
                reader.boolean(&format!("ZIGGURAT_BUILTIN_{kind}_{name}")),
            );
        }
    }

    pub(super) fn check(self) -> Result<Builtins, Invalid> {
        let connection_urls = connection_urls(self.connection_urls, self.connection_url_hosts)?;
        let (tools, resources, prompts) = (
            self.tools.unwrap_or_default(),
            self.resources.unwrap_or_default(),
            self.prompts.unwrap_or_default(),
        );
        Ok(Builtins {
            tools_off: off([
                ("query_database", tools.query_database),
                ("get_schema_info", tools.get_schema_info),
                ("similarity_search", tools.similarity_search),
                ("execute_explain", tools.execute_explain),
                ("generate_embedding", tools.generate_embedding),
                ("search_knowledgebase", tools.search_knowledgebase),
                ("count_rows", tools.count_rows),
            ]),
            resources_off: off([("pg://system_info", resources.system_info)]),
            prompts_off: off([
                ("explore-database", prompts.explore_database),
                ("setup-semantic-search", prompts.setup_semantic_search),
                ("diagnose-query-issue", prompts.diagnose_query_issue),
                ("design-schema", prompts.design_schema),
            ]),
            connection_urls,
        })
    }
}

fn connection_urls(
    switch: Option<RawConnectionUrls>,
    hosts: Option<Vec<String>>,
) -> Result<ConnectionUrls, Invalid> {
    let urls = match switch {
        Some(RawConnectionUrls::Switch(true)) => ConnectionUrls::Any,
        Some(RawConnectionUrls::Switch(false)) => ConnectionUrls::Off,
        Some(RawConnectionUrls::Word(word)) if word != "auto" => {
            let reason = format!("'{word}' is neither auto, true nor false");
            return Err(Invalid::key("builtins.connection_urls", reason));
        }
        Some(RawConnectionUrls::Other(_)) => {
            let reason = "is neither auto, true nor false";
            return Err(Invalid::key("builtins.connection_urls", reason));
        }
        Some(RawConnectionUrls::Word(_)) | None => ConnectionUrls::Configured,
    };
    let Some(hosts) = hosts.filter(|hosts| !hosts.is_empty()) else {
        return Ok(urls);
    };
    let key = "builtins.connection_url_hosts";
    if urls != ConnectionUrls::Any {
        return Err(Invalid::key(key, "needs builtins.connection_urls: true"));
    }
    let hosts = hosts.iter().map(|text| {
        let host = text.parse();
        host.map_err(|error| Invalid::key(key, format!("'{text}' {error}")))
    });
    hosts.collect::<Result<_, _>>().map(ConnectionUrls::Listed)
}

fn off<const N: usize>(switches: [(&'static str, Option<bool>); N]) -> Vec<&'static str> {
    let switches = switches.into_iter();
    switches
        .filter_map(|(name, switch)| (switch == Some(false)).then_some(name))
        .collect()
}
