//! Built-in tools, resources and prompts that are switched on.

use serde_yaml::Value as Yaml;
use ziggurat_postgres_tools::ConnectionUrls;
use ziggurat_runtime::config::Section;

/// Names of the built-in tools with a switch.
pub(super) const SWITCHED_TOOLS: [&str; 9] = [
    "query_database",
    "get_schema_info",
    "search_schema",
    "similarity_search",
    "execute_explain",
    "generate_embedding",
    "search_knowledgebase",
    "count_rows",
    "list_databases",
];

/// Names of the built-in tools that are always on.
pub(super) const FIXED_TOOLS: [&str; 2] = ["read_resource", "authenticate_user"];

/// The keys of prompts, and their names in the protocol.
pub(crate) const BUILTIN_PROMPTS: [(&str, &str); 4] = [
    ("explore_database", "explore-database"),
    ("setup_semantic_search", "setup-semantic-search"),
    ("diagnose_query_issue", "diagnose-query-issue"),
    ("design_schema", "design-schema"),
];

/// Returns the names of all built-in tools.
pub(crate) fn tool_names() -> Vec<&'static str> {
    [&SWITCHED_TOOLS[..], &FIXED_TOOLS].concat()
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

/// Reads the section.
pub(super) fn read(file: &Section<'_>) -> Builtins {
    Builtins {
        connection_urls: connection_urls(file),
        tools_off: disabled(
            file,
            "tools",
            "TOOL",
            SWITCHED_TOOLS.map(|name| (name, name)),
        ),
        resources_off: disabled(
            file,
            "resources",
            "RESOURCE",
            [("system_info", "pg://system_info")],
        ),
        prompts_off: disabled(file, "prompts", "PROMPT", BUILTIN_PROMPTS),
    }
}

fn connection_urls(file: &Section<'_>) -> ConnectionUrls {
    let (switch, list) = (
        file.key("connection_urls"),
        file.key("connection_url_hosts"),
    );
    let urls = match switch.any() {
        Some(Yaml::Bool(true)) => ConnectionUrls::Any,
        Some(Yaml::Bool(false)) => ConnectionUrls::Off,
        None => ConnectionUrls::Configured,
        Some(Yaml::String(word)) if word == "auto" => ConnectionUrls::Configured,
        Some(Yaml::String(word)) => {
            switch.problem(format_args!("'{word}' is neither auto, true nor false"));
            return ConnectionUrls::Configured;
        }
        Some(_) => {
            switch.problem("is neither auto, true nor false");
            return ConnectionUrls::Configured;
        }
    };
    let hosts = list.texts().unwrap_or_default();
    if hosts.is_empty() {
        return urls;
    }
    list.check(
        urls == ConnectionUrls::Any,
        "needs builtins.connection_urls: true",
    );
    let hosts = hosts.iter().filter_map(|text| {
        let host = text.parse();
        host.map_err(|error| list.problem(format_args!("'{text}' {error}")))
            .ok()
    });
    ConnectionUrls::Listed(hosts.collect())
}

/// Returns the names that are switched off.
fn disabled<const N: usize>(
    file: &Section<'_>,
    kind: &str,
    variables: &str,
    names: [(&str, &'static str); N],
) -> Vec<&'static str> {
    let section = file.section(kind);
    let names = names.into_iter().filter(|(key, _)| {
        let variable = format!("ZIGGURAT_BUILTIN_{variables}_{}", key.to_uppercase());
        section.key(key).var(&variable).boolean() == Some(false)
    });
    names.map(|(_, name)| name).collect()
}
