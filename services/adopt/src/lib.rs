//! Converts configurations of other MCP servers for PostgreSQL into ours.
//!
//! Texts go in, and texts and a report come out: nothing here opens a file or a connection, and
//! nothing that an input names is run. A password never gets into a document, an entry or the report;
//! the report says where to put it.
//!
//! ```
//! use ziggurat_adopt::{Adoption, Input, Surroundings};
//!
//! let text = r#"{"mcpServers": {"shop": {"command": "npx", "args":
//!     ["-y", "@modelcontextprotocol/server-postgres", "postgresql://reader:pw@db/shop"]}}}"#;
//! let surroundings = Surroundings::new("ziggurat-tools.yaml");
//! let input = Input { name: "claude.json", text };
//! let adopted = Adoption::read(&[input], None, &surroundings)?.finish();
//! assert!(adopted.entries[0].contains("postgresql://reader@db/shop"));
//! assert!(!adopted.entries[0].contains("reader:pw") && !adopted.report.lacks_something());
//! # Ok::<_, ziggurat_adopt::AdoptError>(())
//! ```

mod adoption;
mod client;
mod database;
mod dbhub;
mod document;
mod name;
mod pgai;
mod report;
mod tool;
mod toolbox;
mod tree;
mod url;
mod variables;

use std::{fmt, str::FromStr};

use thiserror::Error;

pub use self::{
    adoption::{Adopted, Adoption, Answer, File, Question},
    database::{Database, Password},
    pgai::Pgai,
    report::Report,
};
use self::{
    report::Place,
    tree::{Node, json, toml, yaml},
};

/// A configuration of another server.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The name of the file, for the report.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// Kind of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `tools.yaml` of MCP Toolbox.
    Toolbox,
    /// `dbhub.toml` of `DBHub`.
    Dbhub,
    /// Entries of a client.
    Client,
}

/// Facts that a conversion may use besides the configurations.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The path of the configuration to write, as entries of clients name it.
    config: &'a str,
    /// Looks up a variable of the environment.
    variable: &'a dyn Fn(&str) -> Option<String>,
    /// Names of tools that exist here.
    tools: &'a [&'a str],
    /// Names of prompts that exist here.
    prompts: &'a [&'a str],
}

/// Reason why a configuration is not understood. It shows no part of the text.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// The text is not written in its language.
    #[error("line {line} is not {language}")]
    Syntax {
        /// The language.
        language: &'static str,
        /// The line.
        line: usize,
    },
    /// There are more documents than any configuration has.
    #[error("it has more than 1000 documents")]
    TooMany,
    /// The content is of no known server.
    #[error("it is not a configuration of MCP Toolbox, DBHub or a client; see -adopt-as")]
    Unknown,
    /// No entry of the client starts a known server.
    #[error("no entry starts a server for PostgreSQL that is known here")]
    NoEntry,
    /// A file is not understood.
    #[error("{0}")]
    Within(String, #[source] Box<Self>),
}

// === impl Form ===

impl FromStr for Form {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "toolbox" => Ok(Self::Toolbox),
            "dbhub" => Ok(Self::Dbhub),
            "client" => Ok(Self::Client),
            _ => Err(()),
        }
    }
}

// === impl Surroundings ===

impl<'a> Surroundings<'a> {
    /// Makes surroundings without variables and names.
    #[must_use]
    pub fn new(config: &'a str) -> Self {
        Self {
            config,
            variable: &|_| None,
            tools: &[],
            prompts: &[],
        }
    }

    /// Takes variables from an environment.
    #[must_use]
    pub fn with_variables(self, variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { variable, ..self }
    }

    /// Takes the names of the tools and of the prompts that exist already.
    #[must_use]
    pub fn with_taken(self, tools: &'a [&'a str], prompts: &'a [&'a str]) -> Self {
        Self {
            tools,
            prompts,
            ..self
        }
    }
}

impl fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

// === impl Input ===

impl Input<'_> {
    fn place<'a>(&'a self, line: usize, name: &'a str) -> Place<'a> {
        let file = self.name;
        Place { file, line, name }
    }

    /// Reads the text, and finds out what it configures.
    fn parse(&self, form: Option<Form>) -> Result<(Form, Vec<Node>), AdoptError> {
        let is_json = self.text.trim_start_matches('\u{feff}').trim_start();
        let is_json = is_json.starts_with(['{', '/']);
        let nodes = if is_json {
            vec![json::read(self.text)?]
        } else if is_toml(self.text) {
            vec![toml::read(self.text)?]
        } else {
            yaml::read(self.text)?
        };
        let has = |name: &str| nodes.iter().any(|node| node.find(name).is_some());
        let has_list = |name: &str| {
            nodes.iter().any(|node| {
                let list = node.find(name).map(Node::list);
                list.is_some_and(|list| !list.is_empty())
            })
        };
        let form = match form {
            Some(form) => form,
            None if is_json || has("mcp_servers") => Form::Client,
            None if has_list("sources") => Form::Dbhub,
            None if toolbox::is_one(&nodes) => Form::Toolbox,
            None => return Err(AdoptError::Unknown),
        };
        Ok((form, nodes))
    }
}

/// Returns whether the first line that is not a comment is TOML: a table, or a key with a value.
fn is_toml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| {
        let key = line.split_once('=').map(|(key, _)| key);
        line.starts_with('[') || key.is_some_and(|key| !key.contains(':'))
    })
}
