//! Configurations of MCP clients, to be pasted.
//!
//! Written by hand, so that the members have the order that people expect.

use std::{env, path::Path};

use serde_json::{Map, Value};

/// The name of the server in clients.
const NAME: &str = "ziggurat-demo";

/// Variables that configure PostgreSQL; clients start programs without them.
const POSTGRES_VARIABLES: [&str; 3] = ["XDG_CACHE_HOME", "ZIGGURAT_CACHE_DIR", "ZIGGURAT_PG_BIN"];

/// An entry for a client's list of servers.
#[derive(Debug)]
pub(crate) struct Server {
    members: String,
}

// === impl Server ===

impl Server {
    /// The server over HTTP.
    pub(crate) fn http(url: &str, token: &str) -> Self {
        let url = Value::from(url);
        let authorization = Value::from(format!("Bearer {token}"));
        Self {
            members: format!(
                r#""type":"http","url":{url},"headers":{{"Authorization":{authorization}}}"#
            ),
        }
    }

    /// A demo started by the client, over standard input and output.
    pub(crate) fn stdio(program: &Path, keep: Option<&Path>) -> Self {
        let command = Value::from(program.to_string_lossy());
        let mut arguments = vec!["--stdio".into()];
        if let Some(keep) = keep {
            arguments.extend(["--keep".into(), keep.to_string_lossy()]);
        }
        let arguments = Value::from(arguments);
        let mut members = format!(r#""type":"stdio","command":{command},"args":{arguments}"#);
        let environment: Map<_, _> = POSTGRES_VARIABLES
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), env::var(name).ok()?.into())))
            .collect();
        if !environment.is_empty() {
            members.push_str(r#","env":"#);
            members.push_str(&Value::from(environment).to_string());
        }
        Self { members }
    }

    /// The format of Claude Desktop, Claude Code and Cursor.
    pub(crate) fn in_mcp_servers(&self) -> String {
        format!(r#"{{"mcpServers":{{"{NAME}":{{{}}}}}}}"#, self.members)
    }

    /// The format of VS Code.
    pub(crate) fn in_servers(&self) -> String {
        format!(r#"{{"servers":{{"{NAME}":{{{}}}}}}}"#, self.members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        serde_json::from_str(text).expect(text)
    }

    #[test]
    fn paths_and_tokens_with_any_characters_are_escaped() {
        let program = Path::new("/opt/a \"b\"\\c/demo");
        let server = Server::stdio(program, Some(Path::new("/tmp/ü")));
        let server = &read(&server.in_mcp_servers())["mcpServers"][NAME];
        assert_eq!(server["command"], "/opt/a \"b\"\\c/demo");
        assert_eq!(server["args"][2], "/tmp/ü");

        let server = Server::http("http://[::1]:8080/mcp", "t\"");
        let server = &read(&server.in_servers())["servers"][NAME];
        assert_eq!(server["headers"]["Authorization"], "Bearer t\"");
    }
}
