//! Tools, prompts, resources and a glossary from files of the operator.
//!
//! The files are YAML. An error in them names its position, so that the operator can fix it. A program
//! reads them at its start, and again when one of [their paths](DefinitionFiles::paths) changes.
//!
//! ```
//! use ziggurat_postgres::pool::Pools;
//! use ziggurat_databases::Databases;
//! use ziggurat_mcp::{Mcp, Resources, ServerInfo, Tools};
//! use ziggurat_answers::ResultFormat;
//! use ziggurat_postgres_tools::{custom::Definitions, prompts};
//! use ziggurat_runtime::causes;
//!
//! let definitions = Definitions::read(r#"
//! prompts:
//!   - name: analyze-table
//!     description: Analyses one table
//!     arguments:
//!       - {name: table, description: The table to look at, required: true}
//!     messages:
//!       - role: user
//!         content: {type: text, text: "Look at {{table}}"}
//! resources:
//!   - uri: custom://limits
//!     name: Limits
//!     type: static
//!     data: {max: 100}
//!   - uri: custom://tables
//!     name: Tables
//!     type: sql
//!     sql: SELECT relname FROM pg_class
//! glossary:
//!   - {term: MRR, note: Monthly recurring revenue.}
//!   - {object: public.orders.status, note: void orders count nowhere}
//! "#)?;
//! let (pools, _reaper) = Pools::new();
//! let databases = Databases::new(pools, []);
//! let resources = definitions.add_resources(Resources::new(), &databases, ResultFormat::default());
//! let prompts = definitions.add_prompts(prompts::built_in());
//! let about = ServerInfo::new("example", "1.0.0");
//! Mcp::new(&about, Tools::new(), resources, prompts)?;
//!
//! let error = Definitions::read("resources: [{name: Limits}]").expect_err("no URI");
//! assert_eq!(causes(&error), "validation failed: resource 0: uri is required");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits on a file
//!
//! There are up to 64 files, each of up to 1 MiB. YAML aliases can make a few lines expand to gigabytes, so a file that
//! expands to more than 4 MiB is refused before it is read.

mod data;
mod file;
mod files;
mod prompt;
mod resource;
#[cfg(test)]
mod tests;

use std::{error::Error, io, path::Path};

use thiserror::Error;
use ziggurat_answers::ResultFormat;
use ziggurat_databases::Databases;
use ziggurat_mcp::{Prompts, Resources};
use ziggurat_runtime::Problem;
use ziggurat_schema_tools::Glossary;
use ziggurat_sql_tools::{Environment, SqlTools};

pub use self::files::DefinitionFiles;
use self::{file::Sections, files::DefinitionFile, prompt::CustomPrompt, resource::CustomResource};

/// Limit on the size of a file.
const MAX_BYTES: u64 = 1 << 20;

/// The definitions of a file.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Definitions {
    prompts: Vec<CustomPrompt>,
    resources: Vec<CustomResource>,
    glossary: Glossary,
    tools: SqlTools,
}

/// The failure to read definitions. Print it with its causes.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DefinitionsError {
    /// The name of the file does not end in `.yaml` or `.yml`.
    #[error("unsupported file format: {0}")]
    Format(String),
    /// The file cannot be read.
    #[error("the file cannot be read")]
    Read(#[source] io::Error),
    /// The file is too large.
    #[error("the file is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// The file is not valid YAML or does not have the expected form.
    #[error("the file cannot be parsed")]
    Parse(#[source] Box<dyn Error + Send + Sync>),
    /// A definition is invalid.
    #[error("validation failed")]
    Invalid(#[from] Problem),
    /// Tools are invalid: all problems, each with its file and line.
    #[error("{}", .0.join("\n"))]
    Tools(Vec<String>),
    /// One of several files is wrong.
    #[error("{0}")]
    Within(String, #[source] Box<Self>),
}

// === impl Definitions ===

impl Definitions {
    /// Reads a file, or all files of a folder, and those that they include. It blocks.
    ///
    /// The second value is an error if a file cannot be read, is not YAML, or has an invalid
    /// definition. The first one tells when to read them again.
    pub fn load(
        path: &Path,
        environment: &Environment,
    ) -> (DefinitionFiles, Result<Self, DefinitionsError>) {
        let (files, sources) = DefinitionFiles::read(path);
        let definitions = sources.and_then(|sources| Self::of(sources, environment));
        let named = |error: DefinitionsError| match error {
            DefinitionsError::Tools(_) | DefinitionsError::Within(..) => error,
            unnamed => unnamed.within(&path.display().to_string()),
        };
        (files, definitions.map_err(named))
    }

    /// Reads the text of a file, with tools that name no database.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is too long, is not YAML, or has an invalid definition.
    pub fn read(yaml: &str) -> Result<Self, DefinitionsError> {
        let source = DefinitionFile {
            label: String::new(),
            name: "definitions".to_owned(),
            yaml: yaml.to_owned(),
            file: files::parse(yaml)?,
        };
        Self::of(vec![source], &Environment::default())
    }

    fn of(
        sources: Vec<DefinitionFile>,
        environment: &Environment,
    ) -> Result<Self, DefinitionsError> {
        let mut sections = Sections::default();
        let mut tools = SqlTools::default();
        let mut problems = Vec::new();
        for source in sources {
            let DefinitionFile {
                label,
                name,
                yaml,
                mut file,
            } = source;
            let entries = file.tools.take().unwrap_or_default();
            problems.extend(tools.read(&name, &yaml, entries, environment));
            let checked = file.check(&mut sections);
            checked.map_err(|problem| DefinitionsError::from(problem).within(&label))?;
        }
        let definitions = sections.finish()?;
        if !problems.is_empty() {
            return Err(DefinitionsError::Tools(problems));
        }
        Ok(Self {
            tools,
            ..definitions
        })
    }

    /// Returns the tools.
    pub fn tools(&self) -> &SqlTools {
        &self.tools
    }

    /// Adds the prompts to a list. A duplicate name is an error when the list is used.
    pub fn add_prompts(&self, prompts: Prompts) -> Prompts {
        self.prompts.iter().cloned().fold(prompts, Prompts::with)
    }

    /// Adds the resources to a list. SQL resources read the database of their caller. A duplicate
    /// URI is an error when the list is used.
    pub fn add_resources(
        &self,
        resources: Resources,
        databases: &Databases,
        format: ResultFormat,
    ) -> Resources {
        self.resources
            .iter()
            .fold(resources, |resources, resource| {
                resource.add(resources, databases, format)
            })
    }

    /// Returns the glossary.
    pub fn glossary(&self) -> &Glossary {
        &self.glossary
    }
}

// === impl DefinitionsError ===

impl DefinitionsError {
    fn parse(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Parse(Box::new(error))
    }

    /// Adds the name of a file, if it is not empty.
    fn within(self, file: &str) -> Self {
        if file.is_empty() {
            return self;
        }
        Self::Within(file.to_owned(), Box::new(self))
    }
}
