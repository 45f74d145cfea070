//! A set of names, and the callers that it is for.

use ziggurat_runtime::config::Section;
use ziggurat_tokens::{CallerId, CallerNames};

use crate::toolsets::patterns::Patterns;

/// Longest name of a toolset, in bytes.
const LONGEST: usize = 63;

/// Area of the REST API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The databases of the caller, and which one it has selected.
    Databases,
    /// Conversations.
    Conversations,
    /// The proxy for language models.
    Llm,
    /// Compaction of messages.
    Compact,
    /// Statements over HTTP, with their rows as they come.
    Query,
    /// The tables that statements may name.
    Schema,
    /// The statements that run, and their cancellation.
    Activity,
    /// Stored queries and prompts.
    Library,
}

/// A toolset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toolset {
    pub(crate) name: String,
    pub(crate) tools: Patterns,
    pub(crate) resources: Patterns,
    pub(crate) prompts: Patterns,
    pub(crate) rest: Vec<Area>,
    pub(crate) callers: CallerNames,
}

// === impl Area ===

impl Area {
    /// All areas.
    pub const ALL: [Self; 8] = [
        Self::Databases,
        Self::Conversations,
        Self::Llm,
        Self::Compact,
        Self::Query,
        Self::Schema,
        Self::Activity,
        Self::Library,
    ];

    /// Returns the name in configurations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Databases => "databases",
            Self::Conversations => "conversations",
            Self::Llm => "llm",
            Self::Compact => "compact",
            Self::Query => "query",
            Self::Schema => "schema",
            Self::Activity => "activity",
            Self::Library => "library",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|area| area.as_str() == name)
    }
}

// === impl Toolset ===

impl Toolset {
    /// Returns whether a caller has the set: the configuration says so, or its API token.
    pub(crate) fn is_of(&self, caller: &CallerId<'_>) -> bool {
        self.callers.fit(caller) || caller.toolsets().contains(&self.name)
    }

    /// Reads an entry. Prompts may also be named by their keys.
    pub(crate) fn read(entry: &Section<'_>, prompt_keys: &[(&str, &str)]) -> Self {
        let key = entry.key("name");
        let name = key.required(key.text());
        if !name.is_empty() && !is_name(&name) {
            key.problem(format_args!("invalid toolset name: {name}"));
        }
        // For readers of the file.
        let _ = entry.key("description").text();
        let texts = |key: &str| entry.key(key).texts().unwrap_or_default();
        let prompts = texts("prompts").into_iter().map(|prompt| {
            let known = prompt_keys.iter().find(|(key, _)| *key == prompt);
            known.map_or(prompt, |(_, name)| (*name).to_owned())
        });
        let rest = texts("rest").into_iter().filter_map(|area| {
            let known = Area::named(&area);
            if known.is_none() {
                entry.complain(format_args!(
                    "toolsets: '{name}': unknown rest area: {area}"
                ));
            }
            known
        });
        // Without the key, only API tokens that name the set have it.
        let read = if entry.names_key("for") {
            CallerNames::read_with_scopes
        } else {
            CallerNames::read_if_any
        };
        Self {
            tools: texts("tools").into_iter().collect(),
            resources: texts("resources").into_iter().collect(),
            prompts: prompts.collect(),
            rest: rest.collect(),
            callers: read(&entry.section("for")),
            name,
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_other = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    name.len() <= LONGEST
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(is_other)
}
