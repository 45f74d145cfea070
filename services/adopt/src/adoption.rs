//! A conversion, from the first file to the documents.

use std::process::ExitCode;

use serde_json::json;

use crate::{
    AdoptError, Database, Form, Input, Report, Surroundings, client, dbhub,
    document::Members,
    report::Place,
    tool::{Tool, Types, Unfit},
    toolbox::{self, Sets},
};

/// First line of every document.
pub(crate) const HEAD: &str = "# Made by -adopt from the configuration of another server.\n";

/// Exit code if something has no equal here.
const LACKING: u8 = 3;

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
    pub(crate) sets: Sets,
    pub(crate) toolsets: Vec<Members>,
    pub(crate) issuer: Option<Members>,
    /// Names of tools that exist here.
    taken: Vec<String>,
    /// Names of prompts that exist here.
    pub(crate) taken_prompts: Vec<String>,
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

// === impl Adopted ===

impl Adopted {
    /// Writes the report and the entries, as JSON with the names of the new files if a program reads
    /// them.
    #[must_use]
    pub fn text(&self, written: &[String], as_json: bool) -> String {
        if as_json {
            let report = json!({
                "report": self.report,
                "written": written,
                "entries": self.entries,
            });
            return format!("{report:#}\n");
        }
        let mut text = self.report.text();
        for entry in &self.entries {
            text.push('\n');
            text.push_str(entry);
        }
        text
    }

    /// Returns the exit code of a command: 1 if what it wrote has problems, 3 if something has no
    /// equal here.
    #[must_use]
    pub fn exit_code(&self, has_problems: bool) -> ExitCode {
        match self.report.lacks_something() {
            _ if has_problems => ExitCode::FAILURE,
            true => LACKING.into(),
            false => ExitCode::SUCCESS,
        }
    }
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
        let owned = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect();
        let mut adoption = Self {
            taken: owned(surroundings.tools),
            taken_prompts: owned(surroundings.prompts),
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

    /// Adds a tool, unless it has no equal here or its name is taken. Returns its name, and whether it
    /// writes.
    pub(crate) fn add_tool(
        &mut self,
        tool: Result<Tool, Unfit>,
        place: Place<'_>,
    ) -> Option<(String, bool)> {
        match tool.and_then(|tool| tool.checked(&self.taken)) {
            Ok(tool) => {
                let added = (tool.name.clone(), tool.writes);
                self.taken.push(tool.name.clone());
                self.tools.push(tool);
                Some(added)
            }
            Err(error) => {
                self.report.missing(place, error.to_string());
                None
            }
        }
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
        let (reading, writing, unfit) = self.definitions();
        std::mem::take(&mut self.sets).finish(&unfit, &mut self);
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

    /// Makes the definitions of tools that read, and of tools that write. Returns the names of the
    /// others, too.
    fn definitions(&mut self) -> (Vec<Members>, Vec<Members>, Vec<String>) {
        let (mut reading, mut writing, mut unfit) = (Vec::new(), Vec::new(), Vec::new());
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
                    unfit.push(tool.name);
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
        (reading, writing, unfit)
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
