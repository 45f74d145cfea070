//! Requests to the server.

use serde_json::{Value, json};

/// Beginnings of the texts of failures, in the answers of all ways in.
const FAILURES: [&str; 4] = [
    "\"isError\":true",
    "\"isError\": true",
    "{\"error\":",
    "\"error\":{",
];

/// Limit on the rows of a file.
const MAX_EXPORTED: u32 = 10_000;

/// A request, as a client sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A call of the protocol.
    Mcp {
        /// Its method.
        method: String,
        /// Its parameters.
        params: Value,
    },
    /// A request below `/api/`.
    Http {
        /// Its method.
        method: &'static str,
        /// Its path, with the query.
        path: String,
        /// Its body, if it has one.
        body: Option<Value>,
    },
    /// A file of rows, and its download.
    Export(Value),
    /// A question to a pipeline.
    Question {
        /// The name of the pipeline.
        pipeline: String,
        /// The text.
        text: String,
    },
}

// === impl Request ===

impl Request {
    pub(crate) fn tool(name: &str, arguments: &Value) -> Self {
        Self::Mcp {
            method: "tools/call".to_owned(),
            params: json!({"name": name, "arguments": arguments}),
        }
    }

    pub(crate) fn mcp(method: &str, params: Value) -> Self {
        Self::Mcp {
            method: method.to_owned(),
            params,
        }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::Http {
            method: "GET",
            path: path.into(),
            body: None,
        }
    }

    pub(crate) fn post(path: &str, body: Value) -> Self {
        Self::Http {
            method: "POST",
            path: path.to_owned(),
            body: Some(body),
        }
    }

    /// Leaves out the argument that tools have only where there are several databases.
    pub(crate) fn without_database(&mut self) {
        if let Self::Mcp { method, params } = self
            && method == "tools/call"
            && let Some(arguments) = params["arguments"].as_object_mut()
        {
            arguments.remove("database");
        }
    }

    /// Returns the ways in for a statement, with their names.
    pub(crate) fn of_statement(entrance: &str, sql: &str, database: &str) -> (String, Self) {
        let name = match entrance {
            "" => "query_database",
            other => other,
        };
        let request = match name {
            "/api/query" => Self::post(name, json!({"sql": sql, "database": database})),
            "/api/exports" => {
                // The table of a real database may be of any size.
                Self::Export(
                    json!({"sql": sql, "database": database, "max_rows": MAX_EXPORTED, "format": "csv"}),
                )
            }
            tool => Self::tool(tool, &json!({"query": sql, "database": database})),
        };
        (name.to_owned(), request)
    }
}

/// Returns whether an answer is a failure.
pub(crate) fn has_failed(answer: &str) -> bool {
    FAILURES.iter().any(|it| answer.contains(it))
}
