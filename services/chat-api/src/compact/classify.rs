//! Importance of a message.

use std::sync::LazyLock;

use crate::compact::{
    message::{Message, Role},
    phrases::{Groups, Phrases},
};

const SCHEMA: Groups = Groups::only(0);
const QUERY: Groups = Groups::only(1);
const ERROR: Groups = Groups::only(2);
const CORRECTION: Groups = Groups::only(3);
const INSIGHT: Groups = Groups::only(4);
const DOCUMENTATION: Groups = Groups::only(5);

/// Maximum length of a remark; longer texts have content.
const REMARK: usize = 30;
const QUESTION: usize = 50;
const EXPLANATION: usize = 500;

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        &[
            "create table",
            "create index",
            "create view",
            "create schema",
            "create database",
            "alter table",
            "drop table",
            "drop index",
            "drop view",
            "add constraint",
            "primary key",
            "foreign key",
        ],
        &[
            "explain",
            "query plan",
            "execution time",
            "index scan",
            "sequential scan",
        ],
        &[
            "error:",
            "syntax error",
            "does not exist",
            "permission denied",
            "error 0",
            "error 1",
            "error 2",
            "error 3",
            "error 4",
            "error 5",
            "error 6",
            "error 7",
            "error 8",
            "error 9",
        ],
        &[
            "actually",
            "correction",
            "instead",
            "wrong",
            "should be",
            "meant to say",
            "not quite",
        ],
        &[
            "key finding:",
            "important:",
            "note:",
            "warning:",
            "recommendation:",
            "insight:",
        ],
        &["documentation:", "from docs:", "postgresql.org"],
    ])
});

/// Importance of a message, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    Transient,
    Routine,
    Contextual,
    Important,
    Anchor,
    /// The client has requested that the message stays, whatever the limit on tokens.
    Preserved,
}

/// Kinds of messages that the client wants to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeepOptions {
    pub(super) anchors: bool,
    pub(super) tool_results: bool,
    pub(super) schema_info: bool,
}

// === impl Tier ===

impl Tier {
    /// Classifies a message that calls these tools, or has results of them.
    pub(super) fn of(message: &Message<'_>, tools: &[&str], keep: KeepOptions) -> Self {
        match Self::of_any_kind(message, tools, keep) {
            Self::Anchor if !keep.anchors => Self::Contextual,
            tier => tier,
        }
    }

    fn of_any_kind(message: &Message<'_>, tools: &[&str], keep: KeepOptions) -> Self {
        if keep.tool_results && message.has_tools() {
            return Self::Preserved;
        }
        let text = &*message.text;
        let signs = PHRASES.find_spaced(text);
        let is_schema = signs.has(SCHEMA) || tools.iter().any(|tool| is_about_schema(tool));
        if keep.schema_info && is_schema {
            return Self::Anchor;
        }
        if message.has_tools() {
            return Self::of_tools(text, signs, tools);
        }
        match message.role {
            Role::User => Self::of_user(text, signs),
            Role::Assistant => Self::of_assistant(text, signs),
            Role::System => Self::Important,
            Role::Other => Self::Routine,
        }
    }

    fn of_tools(text: &str, signs: Groups, tools: &[&str]) -> Self {
        let known = tools.iter().filter_map(|tool| Self::of_tool(tool, text));
        known.max().unwrap_or(match () {
            () if signs.has(SCHEMA) => Self::Anchor,
            () if signs.has(ERROR) => Self::Important,
            () => Self::Contextual,
        })
    }

    fn of_tool(tool: &str, text: &str) -> Option<Self> {
        Some(match tool {
            "execute_explain" | "analyze_query" => Self::Important,
            "query_database" if text.len() > EXPLANATION => Self::Important,
            "query_database" | "similarity_search" | "search_documentation" => Self::Contextual,
            tool if is_about_schema(tool) => Self::Anchor,
            _ => return None,
        })
    }

    fn of_user(text: &str, signs: Groups) -> Self {
        if signs.has(CORRECTION) {
            Self::Anchor
        } else if text.len() > QUESTION && text.contains('?') {
            Self::Important
        } else if text.len() < REMARK && is_acknowledgment(text) {
            Self::Transient
        } else {
            Self::Contextual
        }
    }

    fn of_assistant(text: &str, signs: Groups) -> Self {
        if signs.has(SCHEMA) {
            Self::Anchor
        } else if [QUERY, ERROR, INSIGHT, DOCUMENTATION]
            .into_iter()
            .any(|sign| signs.has(sign))
        {
            Self::Important
        } else if text.len() > EXPLANATION {
            Self::Contextual
        } else {
            Self::Routine
        }
    }
}

fn is_about_schema(tool: &str) -> bool {
    matches!(tool, "get_schema_info" | "pg_dump_schema")
}

fn is_acknowledgment(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_suffix('.').unwrap_or(text);
    ["ok", "yes", "no", "thanks", "great", "got it"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use serde_json::{json, value::RawValue};

    use super::*;

    const PLAIN: KeepOptions = KeepOptions {
        anchors: true,
        tool_results: false,
        schema_info: false,
    };

    fn tier(role: &str, content: &serde_json::Value, tools: &[&str], keep: KeepOptions) -> Tier {
        let json = json!({"role": role, "content": content}).to_string();
        let raw = RawValue::from_string(json).expect("JSON");
        let message = Message::read(&raw).expect("a message");
        Tier::of(&message, tools, keep)
    }

    #[test]
    fn messages_of_users_and_assistants_are_classified_by_their_text() {
        let long = "x".repeat(501);
        let question = format!("{}?", "x".repeat(50));
        for (role, text, expected) in [
            ("user", "Actually, use the other one", Tier::Anchor),
            ("user", "that is WRONG", Tier::Anchor),
            ("user", "use b instead", Tier::Anchor),
            ("user", "it should\n  be three", Tier::Anchor),
            ("user", "a correction", Tier::Anchor),
            ("user", "I meant to say two", Tier::Anchor),
            ("user", "Not quite", Tier::Anchor),
            ("user", &question, Tier::Important),
            ("user", &question[1..], Tier::Contextual),
            ("user", "ok", Tier::Transient),
            ("user", " Thanks. ", Tier::Transient),
            ("user", "GOT IT.", Tier::Transient),
            ("user", "got it..", Tier::Contextual),
            ("user", "yes please", Tier::Contextual),
            ("user", "ok                             .", Tier::Contextual),
            ("user", "CREATE TABLE t ()", Tier::Contextual),
            ("user", "", Tier::Contextual),
            ("assistant", "I did create  table t", Tier::Anchor),
            ("assistant", "ALTER\nTABLE t", Tier::Anchor),
            ("assistant", "drop view v", Tier::Anchor),
            ("assistant", "the Primary Key is id", Tier::Anchor),
            ("assistant", "here is the query plan", Tier::Important),
            ("assistant", "I can EXPLAIN", Tier::Important),
            ("assistant", "a sequential scan", Tier::Important),
            ("assistant", "Error: no", Tier::Important),
            ("assistant", "ERROR  42 happened", Tier::Important),
            ("assistant", "error code", Tier::Routine),
            ("assistant", "the table does not exist", Tier::Important),
            ("assistant", "Key finding: it is slow", Tier::Important),
            ("assistant", "see postgresql.org", Tier::Important),
            ("assistant", "actually", Tier::Routine),
            ("assistant", "ok", Tier::Routine),
            ("assistant", &long, Tier::Contextual),
            ("assistant", &long[1..], Tier::Routine),
            ("system", "be brief", Tier::Important),
            ("tool", "whatever", Tier::Routine),
            ("", "CREATE TABLE", Tier::Routine),
        ] {
            assert_eq!(
                tier(role, &json!(text), &[], PLAIN),
                expected,
                "{role}: {text}"
            );
        }
    }

    #[test]
    fn messages_of_tools_are_classified_by_the_tool() {
        let result = |text: &str| json!([{"type": "tool_result", "content": text}]);
        let long = "x".repeat(501);
        for (tools, text, expected) in [
            (&["get_schema_info"][..], "", Tier::Anchor),
            (&["pg_dump_schema"], "error:", Tier::Anchor),
            (&["execute_explain"], "", Tier::Important),
            (&["analyze_query"], "", Tier::Important),
            (&["query_database"], &long, Tier::Important),
            (&["query_database"], &long[1..], Tier::Contextual),
            (&["query_database"], "primary key error:", Tier::Contextual),
            (&["similarity_search"], &long, Tier::Contextual),
            (&["search_documentation"], "", Tier::Contextual),
            (&["query_database", "get_schema_info"], "", Tier::Anchor),
            (&["count_rows", "execute_explain"], "", Tier::Important),
            (&["count_rows"], "FOREIGN KEY", Tier::Anchor),
            (&["count_rows"], "permission denied", Tier::Important),
            (&["count_rows"], "7", Tier::Contextual),
            (&[], "ok", Tier::Contextual),
        ] {
            let tier = tier("user", &result(text), tools, PLAIN);
            assert_eq!(tier, expected, "{tools:?}: {text}");
        }
    }

    #[test]
    fn options_of_the_client_change_the_classification() {
        let result = json!([{"type": "tool_result", "content": "CREATE TABLE"}]);
        let text = json!("CREATE TABLE t ()");
        let keep = |anchors, tool_results, schema_info| KeepOptions {
            anchors,
            tool_results,
            schema_info,
        };
        for (content, tools, keep, expected) in [
            (
                &result,
                &["query_database"][..],
                keep(true, true, false),
                Tier::Preserved,
            ),
            (
                &result,
                &["get_schema_info"],
                keep(true, true, false),
                Tier::Preserved,
            ),
            (
                &result,
                &["query_database"],
                keep(false, true, true),
                Tier::Preserved,
            ),
            (
                &result,
                &["get_schema_info"],
                keep(false, false, false),
                Tier::Contextual,
            ),
            (&text, &[], keep(true, false, true), Tier::Anchor),
            (&text, &[], keep(true, true, false), Tier::Contextual),
            (&text, &[], keep(false, false, true), Tier::Contextual),
        ] {
            assert_eq!(
                tier("user", content, tools, keep),
                expected,
                "{content} {keep:?}"
            );
        }
    }
}
