//! Which of the built-in tools, resources and prompts are there.

use serde::Deserialize;

use super::environment::{Reader, set};

/// The section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawBuiltins {
    tools: Option<RawTools>,
    resources: Option<RawResources>,
    prompts: Option<RawPrompts>,
    connection_urls: Option<bool>,
}

/// The section as written.
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

/// The section as written.
#[derive(Debug, Default, Deserialize)]
struct RawResources {
    system_info: Option<bool>,
}

/// The section as written.
#[derive(Debug, Default, Deserialize)]
struct RawPrompts {
    explore_database: Option<bool>,
    setup_semantic_search: Option<bool>,
    diagnose_query_issue: Option<bool>,
    design_schema: Option<bool>,
}

/// What is switched off, by the names clients know; everything else is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Builtins {
    /// Tools, such as `count_rows`.
    pub(crate) tools_off: Vec<&'static str>,
    /// Resources, such as `pg://system_info`.
    pub(crate) resources_off: Vec<&'static str>,
    /// Prompts, such as `explore-database`.
    pub(crate) prompts_off: Vec<&'static str>,
    /// Whether the text of a query may name another database by its URL.
    pub(crate) connection_urls: bool,
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

    pub(super) fn check(self) -> Builtins {
        let (tools, resources, prompts) = (
            self.tools.unwrap_or_default(),
            self.resources.unwrap_or_default(),
            self.prompts.unwrap_or_default(),
        );
        Builtins {
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
            connection_urls: self
                .connection_urls
                .unwrap_or(Builtins::default().connection_urls),
        }
    }
}

// === impl Builtins ===

impl Default for Builtins {
    fn default() -> Self {
        Self {
            tools_off: Vec::new(),
            resources_off: Vec::new(),
            prompts_off: Vec::new(),
            connection_urls: true,
        }
    }
}

fn off<const N: usize>(switches: [(&'static str, Option<bool>); N]) -> Vec<&'static str> {
    let switches = switches.into_iter();
    switches
        .filter_map(|(name, switch)| (switch == Some(false)).then_some(name))
        .collect()
}
