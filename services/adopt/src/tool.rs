//! A tool with a statement of its own, on its way into our definitions.

pub(crate) mod parameter;
mod statement;
#[cfg(test)]
mod tests;
mod types;

use thiserror::Error;
use ziggurat_sql::{Lexer, Policy, Token};

use self::{
    parameter::Parameter,
    statement::{Placeholders, rewrite},
    types::Typed,
};
use crate::{
    Surroundings,
    document::{Members, Yaml},
    name,
    report::Place,
    tree::Node,
    variables::{self, Filled},
};

/// Limit on the characters of a description.
const MAX_DESCRIPTION: usize = 2_000;

/// Rows that a tool returns without a limit of its own.
const ROWS: u32 = 100;

/// Most rows that a tool may return.
const MAX_ROWS: u32 = 1_000;

/// A tool of another server.
#[derive(Debug)]
pub(crate) struct Tool {
    /// Its file and line there, and its name.
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) original: String,
    /// Its name here.
    pub(crate) name: String,
    pub(crate) description: String,
    /// The database, by its position.
    pub(crate) database: usize,
    /// The statement with `$1`, `$2` and `:"name"` for names.
    pub(crate) statement: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) row_limit: Option<u32>,
    pub(crate) types: Types,
    pub(crate) writes: bool,
    /// Sentences about differences.
    pub(crate) changes: Vec<String>,
}

/// Types of the parameters.
#[derive(Debug)]
pub(crate) enum Types {
    /// The declared types.
    Declared,
    /// The types of PostgreSQL, by number.
    Known(Vec<String>),
    /// PostgreSQL refuses the statement, for this reason.
    Refused(String),
}

/// Reason why a tool has no equal here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Unfit {
    #[error("a comment, a string or a name in the statement has no end")]
    Unclosed,
    #[error("the statement uses ${0}, which is not declared")]
    Undeclared(usize),
    #[error("{0}: text never becomes SQL here")]
    Template(String),
    #[error("parameter {0}: {1} has no equal here")]
    Key(String, &'static str),
    #[error("parameter {0}: the default does not fit its type")]
    Default(String),
    #[error("the name {0} is taken")]
    Taken(String),
    #[error("parameter {0}: the name is taken")]
    TakenParameter(String),
    #[error("more than one statement")]
    Several,
    #[error("{0}")]
    Refused(String),
}

/// Returns a text of a tool with its variables filled in.
fn filled(
    node: &Node,
    key: &str,
    surroundings: &Surroundings<'_>,
    changes: &mut Vec<String>,
) -> String {
    let written = node.find_text(key).unwrap_or_default();
    match variables::fill(&written, surroundings.variable) {
        Filled::Text(text) => text,
        Filled::Default(text, name) => {
            changes.push(format!("{key}: the default of {name} is taken"));
            text
        }
        Filled::Unset(name) => {
            changes.push(format!("{key}: {name} is not filled in: write its value"));
            written
        }
    }
}

/// Returns whether a statement writes.
fn writes(statement: &str) -> Result<bool, Unfit> {
    let statement = statement.trim_end().trim_end_matches(';');
    let shape = Policy::writable().check(statement);
    let shape = shape.map_err(|refusal| Unfit::Refused(refusal.to_string()))?;
    if shape.is_several() {
        return Err(Unfit::Several);
    }
    if shape.copies_through_the_client() {
        return Err(Unfit::Refused("COPY through the client".to_owned()));
    }
    Ok(!shape.only_reads() || Policy::read_only().check(statement).is_err())
}

// === impl Tool ===

impl Tool {
    /// Reads the keys that the tools of all servers have.
    pub(crate) fn read(
        node: &Node,
        place: Place<'_>,
        database: usize,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, Unfit> {
        let mut changes = Vec::new();
        let name = name::ours(place.name);
        Ok(Self {
            file: place.file.to_owned(),
            line: place.line,
            original: place.name.to_owned(),
            name: name.ok_or_else(|| Unfit::Refused("no name".to_owned()))?,
            statement: filled(node, "statement", surroundings, &mut changes),
            description: filled(node, "description", surroundings, &mut changes),
            parameters: Parameter::read_all(node, "parameters", &mut changes)?,
            database,
            row_limit: None,
            types: Types::Declared,
            writes: false,
            changes,
        })
    }

    /// Checks its name and the names of its parameters, and finds out whether its statement writes.
    pub(crate) fn checked(mut self, taken: &[String]) -> Result<Self, Unfit> {
        self.writes = writes(&self.statement)?;
        if taken.contains(&self.name) {
            return Err(Unfit::Taken(self.name));
        }
        let mut names: Vec<_> = self.parameters.iter().map(|it| &it.name).collect();
        names.sort();
        let mut pairs = names.iter().zip(names.iter().skip(1));
        match pairs.find(|(one, two)| one == two) {
            Some((name, _)) => Err(Unfit::TakenParameter((*name).clone())),
            None => Ok(self),
        }
    }

    /// Returns the statement that PostgreSQL is asked about: each name is the first one allowed.
    pub(crate) fn question(&self) -> String {
        let mut question = self.statement.clone();
        for parameter in self.parameters.iter().filter(|it| it.is_identifier) {
            if let Some(first) = parameter.allowed.first() {
                let placeholder = format!(":\"{}\"", parameter.name);
                question = question.replace(&placeholder, &format!("\"{first}\""));
            }
        }
        question.trim_end().trim_end_matches(';').to_owned()
    }

    /// Makes the definition.
    pub(crate) fn definition(&mut self, database: &str) -> Result<Members, Unfit> {
        let known = match &self.types {
            Types::Known(known) => Some(known.clone()),
            Types::Declared => {
                let values = self.parameters.iter().any(|it| !it.is_identifier);
                if values {
                    self.change("the types are as declared; check with -check-config -connect");
                } else {
                    self.change("the statement is unchecked; check with -check-config -connect");
                }
                None
            }
            Types::Refused(reason) => {
                self.changes
                    .push(format!("PostgreSQL refuses the statement: {reason}"));
                None
            }
        };
        let values: Vec<_> = self
            .parameters
            .iter()
            .filter(|it| !it.is_identifier)
            .collect();
        let typed: Vec<_> = values
            .iter()
            .enumerate()
            .map(|(index, parameter)| {
                let known = known.as_ref().and_then(|known| known.get(index));
                Typed::of(parameter, known.map(String::as_str))
            })
            .collect();
        let names: Vec<_> = values.iter().map(|it| it.name.as_str()).collect();
        let casts: Vec<_> = typed.iter().map(|it| it.cast.as_deref()).collect();
        let identifiers = self.parameters.iter().filter(|it| it.is_identifier);
        let placeholders = Placeholders {
            names,
            casts,
            identifiers: identifiers.map(|it| it.name.as_str()).collect(),
        };
        let (statement, used) = rewrite(&self.statement, &placeholders)?;
        let (mut parameters, mut changes, mut at) = (Vec::new(), Vec::new(), 0);
        for parameter in &self.parameters {
            if parameter.is_identifier {
                parameters.push(parameter.identifier());
                continue;
            }
            if used[at] {
                parameters.push(parameter.value(&typed[at])?);
                changes.extend(typed[at].change(parameter));
            } else {
                changes.push(format!(
                    "parameter {}: the statement does not use it",
                    parameter.name
                ));
            }
            at += 1;
        }
        self.changes.extend(changes);
        self.limit_rows();
        Ok(self.members(database, statement, parameters))
    }

    fn change(&mut self, what: &str) {
        self.changes.push(what.to_owned());
    }

    fn limit_rows(&mut self) {
        match self.row_limit {
            Some(rows) if rows > MAX_ROWS => {
                self.row_limit = Some(MAX_ROWS);
                self.changes
                    .push(format!("at most {MAX_ROWS} rows are returned"));
            }
            None if !self.writes && !limits_itself(&self.statement) => {
                let what = format!("at most {ROWS} rows are returned, unless row_limit is set");
                self.changes.push(what);
            }
            _ => {}
        }
    }

    fn members(&mut self, database: &str, statement: String, parameters: Vec<Members>) -> Members {
        let mut tool = Members::default();
        tool.set("name", self.name.as_str());
        let mut description = self.description.trim().to_owned();
        if description.is_empty() {
            description.clone_from(&self.name);
        }
        if let Some((end, _)) = description.char_indices().nth(MAX_DESCRIPTION) {
            description.truncate(end);
            self.change("the description is cut after 2,000 characters");
        }
        tool.set("description", description);
        tool.set("database", database);
        if self.writes {
            tool.set("write", true);
        }
        tool.set("statement", statement);
        if !parameters.is_empty() {
            tool.set("parameters", parameters);
        }
        tool.set("result", "json");
        tool.set_if(
            "row_limit",
            self.row_limit.map(|rows| Yaml::Plain(rows.to_string())),
        );
        tool
    }
}

/// Returns whether a statement ends with a limit that is not above ours.
fn limits_itself(statement: &str) -> bool {
    let mut lexer = Lexer::new(statement);
    let (mut is_limit, mut limits) = (false, false);
    while let Some(token) = lexer.next() {
        let end = lexer.position();
        let number = || {
            let read = &statement[..end];
            let start = read
                .rfind(|c: char| !(c.is_ascii_digit() || c == '$'))
                .map_or(0, |at| at + 1);
            read[start..].parse::<u32>()
        };
        match token {
            Token::Number if is_limit => limits = number().is_ok_and(|rows| rows <= ROWS),
            Token::Symbol(b')') => limits = false,
            _ => {}
        }
        is_limit = matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("limit"));
    }
    limits
}
