//! A conversion, from the first file to the documents.

use crate::{
    AdoptError, Database, Form, Input, Report, Surroundings, client, dbhub,
    document::Members,
    report::Place,
    tool::{Tool, Types},
    toolbox,
};

/// First line of every document.
pub(crate) const HEAD: &str = "# Made by -adopt from the configuration of another server.\n";

/// Names of the documents.
const CONFIGURATION: &str = "ziggurat-tools.yaml";
const DEFINITIONS: &str = "definitions.yaml";
const WRITES: &str = "writes.yaml";

/// A conversion that is under way.
#[derive(Debug, Default)]
pub struct Adoption {
    pub(crate) report: Report,
    /// Entries that replace entries of clients.
    pub(crate) entries: Vec<String>,
    /// True if the administrator's pack is on.
    pub(crate) dba: bool,
    /// Address to listen on, if the server is reached over HTTP.
    pub(crate) address: Option<String>,
    pub(crate) databases: Vec<Database>,
    tools: Vec<Tool>,
    pub(crate) prompts: Vec<Members>,
    pub(crate) toolsets: Vec<Members>,
    pub(crate) issuer: Option<Members>,
    /// Names of tools and prompts that exist here.
    pub(crate) taken: Vec<String>,
}

/// A statement that PostgreSQL can be asked about.
#[derive(Debug)]
pub struct Question<'a> {
    /// The database of the tool.
    pub database: &'a Database,
    /// The statement, with `$1`, `$2` and so on.
    pub statement: String,
}

/// Answer of PostgreSQL to a question.
#[derive(Debug)]
pub enum Answer {
    /// The types of its parameters, by number, as PostgreSQL writes them.
    Types(Vec<String>),
    /// PostgreSQL refuses the statement, for this reason.
    Refused(String),
    /// PostgreSQL was not asked.
    Unknown,
}

/// The results of a conversion.
#[derive(Debug)]
pub struct Adopted {
    /// The documents to write.
    pub files: Vec<File>,
    /// Entries to paste into the configuration of a client.
    pub entries: Vec<String>,
    /// The findings.
    pub report: Report,
}

/// A document.
#[derive(Debug)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

// === impl Adoption ===

impl Adoption {
    /// Reads configurations of other servers, of one kind or of the kind that their content shows.
    ///
    /// # Errors
    /// Fails on a text that is not understood.
    pub fn read(
        inputs: &[Input<'_>],
        form: Option<Form>,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, AdoptError> {
        let mut adoption = Self {
            taken: surroundings.taken.iter().map(|&it| it.to_owned()).collect(),
            ..Self::default()
        };
        for input in inputs {
            let read = adoption.add(input, form, surroundings);
            let within = |error| AdoptError::Within(input.name.to_owned(), Box::new(error));
            read.map_err(within)?;
        }
        Ok(adoption)
    }

    fn add(
        &mut self,
        input: &Input<'_>,
        form: Option<Form>,
        surroundings: &Surroundings<'_>,
    ) -> Result<(), AdoptError> {
        let (form, nodes) = input.parse(form)?;
        match form {
            Form::Toolbox => toolbox::read(input, &nodes, surroundings, self),
            Form::Dbhub => {
                for node in &nodes {
                    dbhub::read(input, node, surroundings, self);
                }
            }
            Form::Client => client::read(input, &nodes, surroundings, self)?,
        }
        Ok(())
    }

    /// Adds a database, unless its name is taken, and returns its position.
    pub(crate) fn add_database(&mut self, database: Database, place: Place<'_>) -> Option<usize> {
        if self.databases.iter().any(|it| it.name == database.name) {
            self.report
                .missing(place, "the name of the database is taken");
            return None;
        }
        self.databases.push(database);
        Some(self.databases.len() - 1)
    }

    /// Adds a tool, unless its name is taken.
    pub(crate) fn add_tool(&mut self, tool: Tool, place: Place<'_>) {
        if self.taken.contains(&tool.name) {
            let what = format!("the name {} is taken", tool.name);
            self.report.missing(place, what);
            return;
        }
        let mut names: Vec<_> = tool.parameters.iter().map(|it| &it.name).collect();
        names.sort();
        let mut pairs = names.iter().zip(names.iter().skip(1));
        if let Some((name, _)) = pairs.find(|(one, two)| one == two) {
            let what = format!("parameter {name}: the name is taken");
            self.report.missing(place, what);
            return;
        }
        self.taken.push(tool.name.clone());
        self.tools.push(tool);
    }

    /// Returns the statements that PostgreSQL can be asked about, with their databases.
    #[must_use]
    pub fn questions(&self) -> Vec<Question<'_>> {
        let question = |tool: &Tool| Question {
            database: &self.databases[tool.database],
            statement: tool.question(),
        };
        self.tools.iter().map(question).collect()
    }

    /// Takes the answers to the [questions](Self::questions), in their order.
    #[must_use]
    pub fn with_answers(mut self, answers: impl IntoIterator<Item = Answer>) -> Self {
        for (tool, answer) in self.tools.iter_mut().zip(answers) {
            tool.types = match answer {
                Answer::Types(types) => Types::Known(types),
                Answer::Refused(reason) => Types::Refused(reason),
                Answer::Unknown => Types::Declared,
            };
        }
        self
    }

    /// Makes the documents.
    #[must_use]
    pub fn finish(mut self) -> Adopted {
        let (reading, writing) = self.definitions();
        let mut definitions = Members::default();
        if !reading.is_empty() {
            definitions.set("tools", reading);
        }
        if !self.prompts.is_empty() {
            definitions.set("prompts", std::mem::take(&mut self.prompts));
        }
        let mut writes = Members::default();
        if !writing.is_empty() {
            writes.set("tools", writing);
            if definitions.is_empty() {
                definitions.comment("include: [writes.yaml]");
            }
        }
        let configuration = self.configuration(!definitions.is_empty());
        let documents = [
            (CONFIGURATION, configuration),
            (DEFINITIONS, definitions),
            (WRITES, writes),
        ];
        let documents = documents.into_iter().filter(|(_, it)| !it.is_empty());
        let files = documents.map(|(name, members)| File {
            name,
            text: format!("{HEAD}{}", members.render()),
        });
        self.report.sort();
        Adopted {
            files: files.collect(),
            entries: self.entries,
            report: self.report,
        }
    }

    /// Makes the definitions of tools that read, and of tools that write.
    fn definitions(&mut self) -> (Vec<Members>, Vec<Members>) {
        let (mut reading, mut writing) = (Vec::new(), Vec::new());
        for mut tool in std::mem::take(&mut self.tools) {
            let database = self.databases[tool.database].name.clone();
            let definition = tool.definition(&database);
            let place = Place {
                file: &tool.file,
                line: tool.line,
                name: &tool.original,
            };
            let definition = match definition {
                Ok(definition) => definition,
                Err(error) => {
                    self.report.missing(place, error.to_string());
                    continue;
                }
            };
            if tool.name != tool.original {
                self.report
                    .changed(place, format!("its name is {} here", tool.name));
            }
            for change in &tool.changes {
                self.report.changed(place, change.as_str());
            }
            if tool.writes {
                let what = format!(
                    "it writes: in {WRITES}; set allow_writes: true of the database {database}, and \
                     include: [{WRITES}] in {DEFINITIONS}"
                );
                self.report.changed(place, what);
                writing.push(definition);
            } else {
                if tool.changes.is_empty() && tool.name == tool.original {
                    self.report.same(place, format!("tool {}", tool.name));
                }
                reading.push(definition);
            }
        }
        (reading, writing)
    }

    fn configuration(&mut self, has_definitions: bool) -> Members {
        let mut configuration = Members::default();
        let mut http = Members::default();
        if let Some(address) = &self.address {
            http.set("enabled", true);
            http.set("address", address.as_str());
        }
        if let Some(issuer) = self.issuer.take() {
            let mut auth = Members::default();
            auth.set("issuer", issuer);
            http.set("auth", auth);
        }
        if !http.is_empty() {
            configuration.set("http", http);
        }
        if !self.databases.is_empty() {
            let databases: Vec<_> = self.databases.iter().map(Database::entry).collect();
            configuration.set("databases", databases);
        }
        if has_definitions {
            configuration.set("custom_definitions_path", DEFINITIONS);
        }
        if self.dba {
            let mut dba = Members::default();
            dba.set("enabled", true);
            if !self.toolsets.is_empty() {
                let mut callers = Members::default();
                callers.set("everyone", true);
                dba.set("for", callers);
            }
            configuration.set("dba", dba);
        }
        if !self.toolsets.is_empty() {
            configuration.set("toolsets", std::mem::take(&mut self.toolsets));
        }
        configuration
    }
}
