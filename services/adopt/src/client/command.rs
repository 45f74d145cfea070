//! Commands and addresses by which a client has a server.

use crate::{tree::Node, url};

/// A server for PostgreSQL that entries may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// `server-postgres` of the Model Context Protocol.
    Reference,
    /// `postgres-mcp` of Crystal DBA.
    Crystal,
    Dbhub,
    Toolbox,
    Supabase,
}

/// Packages, programs and images, without their versions.
const PACKAGES: [(&str, Server); 15] = [
    ("@modelcontextprotocol/server-postgres", Server::Reference),
    ("mcp-server-postgres", Server::Reference),
    ("mcp/postgres", Server::Reference),
    ("postgres-context-server", Server::Reference),
    ("postgres-mcp", Server::Crystal),
    ("crystaldba/postgres-mcp", Server::Crystal),
    ("@bytebase/dbhub", Server::Dbhub),
    ("bytebase/dbhub", Server::Dbhub),
    ("dbhub", Server::Dbhub),
    ("@toolbox-sdk/server", Server::Toolbox),
    ("toolbox", Server::Toolbox),
    ("database-toolbox/toolbox", Server::Toolbox),
    ("@supabase/mcp-server-supabase", Server::Supabase),
    ("mcp-server-supabase", Server::Supabase),
    ("mcp.supabase.com", Server::Supabase),
];

/// An entry of a client.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    /// The address of a server that the client does not start.
    pub(super) address: Option<String>,
}

// === impl Command ===

impl Command {
    pub(super) fn read(entry: &Node) -> Option<Self> {
        let command = entry.find("command");
        // Zed has all of it below `command`.
        let holder = command.filter(|it| it.find("path").is_some());
        let holder = holder.unwrap_or(entry);
        let program = holder.find_text("path").or(entry.find_text("command"));
        let listed = command.map(Node::texts).unwrap_or_default();
        let arguments = holder.find("args").map(Node::texts).unwrap_or_default();
        let address = ["url", "serverUrl", "httpUrl"];
        let address = address.iter().find_map(|key| entry.find_text(key));
        let environment = ["env", "environment"];
        let environment = environment.iter().find_map(|key| holder.find(key));
        let variables = environment.map(Node::members).unwrap_or_default().iter();
        let variables = variables.filter_map(|(name, it)| Some((name.clone(), it.text()?)));
        let mut command = Self {
            words: program.into_iter().chain(listed).chain(arguments).collect(),
            environment: variables.collect(),
            address,
        };
        // The extension of Zed has the URL in its settings.
        let settings = entry.find("settings");
        if let Some(url) = settings.and_then(|it| it.find_text("database_url")) {
            command.words.push("mcp-server-postgres".to_owned());
            command.words.push(url);
        }
        (!command.words.is_empty() || command.address.is_some()).then_some(command)
    }

    /// Returns the server that the entry starts.
    pub(super) fn server(&self) -> Option<Server> {
        let words = self.words.iter().map(String::as_str);
        let host = self.address.as_deref().and_then(|url| {
            let rest = url.split_once("://")?.1;
            rest.split(['/', '?', ':']).next()
        });
        words.chain(host).find_map(known)
    }

    /// Returns the value of an option, `--name value` or `--name=value`.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix("--").and_then(|it| it.strip_prefix(name)) {
                Some("") => return words.next().map(String::as_str),
                Some(rest) if rest.starts_with('=') => return Some(&rest[1..]),
                _ => {}
            }
        }
        None
    }

    pub(super) fn has_option(&self, name: &str) -> bool {
        let is_it = |word: &String| word.strip_prefix("--") == Some(name);
        self.words.iter().any(is_it) || self.option(name) == Some("true")
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let mut variables = self.environment.iter();
        let found = variables.find(|(known, _)| known == name);
        let given = found.map(|(_, value)| value.as_str());
        // `docker run -e NAME=value`
        let start = format!("{name}=");
        let inline = || {
            self.words
                .iter()
                .find_map(|word| word.strip_prefix(&*start))
        };
        given.or_else(inline).filter(|value| !value.is_empty())
    }

    /// Returns the connection URL among the arguments, or a variable of the client for it.
    pub(super) fn url(&self) -> Option<&str> {
        let mut words = self.words.iter().map(String::as_str);
        words.find(|word| url::is_url(word) || word.starts_with("${"))
    }

    pub(super) fn is_container(&self) -> bool {
        let mut words = self.words.iter();
        words.any(|word| matches!(program(word), "docker" | "podman" | "nerdctl"))
    }
}

/// Returns the name of a program without its folder and the ending of Windows.
fn program(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

fn known(word: &str) -> Option<Server> {
    if word.starts_with('-') || word.contains("://") {
        return None;
    }
    // A scope begins with the mark of a version, and a registry may have a port.
    let end = word.get(1..).and_then(|rest| rest.find(['@', '=']));
    let name = end.map_or(word, |at| &word[..=at]);
    let name = match name.rsplit_once(':') {
        Some((before, tag)) if !tag.contains(['/', '\\']) => before,
        _ => name,
    };
    let is_it = |package: &str| {
        let is_image = || {
            name.strip_suffix(package)
                .is_some_and(|it| it.ends_with('/'))
        };
        name == package
            || !package.contains('/') && program(name) == package
            || package.contains('/') && !package.starts_with('@') && is_image()
    };
    let found = PACKAGES.iter().find(|(package, _)| is_it(package));
    found.map(|(_, server)| *server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_package_its_program_or_its_image() {
        for (word, expected) in [
            (
                "@modelcontextprotocol/server-postgres",
                Some(Server::Reference),
            ),
            (
                "@modelcontextprotocol/server-postgres@0.6.2",
                Some(Server::Reference),
            ),
            ("mcp/postgres:latest", Some(Server::Reference)),
            ("docker.io/mcp/postgres", Some(Server::Reference)),
            ("postgres-mcp==0.3.0", Some(Server::Crystal)),
            ("/usr/local/bin/postgres-mcp", Some(Server::Crystal)),
            ("crystaldba/postgres-mcp", Some(Server::Crystal)),
            ("@bytebase/dbhub@latest", Some(Server::Dbhub)),
            ("registry:5000/bytebase/dbhub", Some(Server::Dbhub)),
            ("C:\\tools\\toolbox.exe", Some(Server::Toolbox)),
            (
                "@supabase/mcp-server-supabase@latest",
                Some(Server::Supabase),
            ),
            ("@modelcontextprotocol/server-filesystem", None),
            ("my-postgres-mcp-fork", None),
            ("postgres://postgres-mcp", None),
            ("é", None),
            ("", None),
        ] {
            assert_eq!(known(word), expected, "{word}");
        }
    }
}
