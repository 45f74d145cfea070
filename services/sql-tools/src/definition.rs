//! The definition of a tool, and its checks when it is loaded.

mod kinds;
mod parameters;
mod raw;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use serde_yaml::Value as Yaml;
use ziggurat_databases::Databases;
use ziggurat_postgres::database::{Database, MAX_ROWS};
use ziggurat_runtime::{Problem, causes, duration, yaml::Step};
use ziggurat_sql::{Policy, Refusal};
use ziggurat_tokens::{Fact, Identity, LocalCaller};

use self::raw::RawTool;
use crate::{
    Environment,
    kind::{Checked, Kind},
    parameter::{Filling, Parameter},
    placeholders::Template,
};

/// Limits on the characters of a description, and on the bytes of a statement.
const MAX_DESCRIPTION: usize = 2_000;
const MAX_STATEMENT: usize = 64 << 10;

/// Limit on the statements that the names of a tool make.
const MAX_STATEMENTS: usize = 64;

/// A tool of the operator.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    /// `None` for the current database of the caller.
    pub(crate) database: Option<String>,
    pub(crate) template: Template,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) shape: Shape,
    pub(crate) empty: Option<String>,
    pub(crate) row_limit: Option<u32>,
    pub(crate) timeout: Option<Duration>,
    /// `None` for a tool that only reads.
    pub(crate) write: Option<Write>,
    /// Its results show values of masked columns.
    pub(crate) is_unmasked: bool,
    /// The file and the line, for the log.
    pub(crate) place: String,
    /// The caller without an identity.
    pub(crate) local: LocalCaller,
}

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Rows,
    Value,
    Record,
    Json,
    Markdown,
}

/// The properties of a tool that writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    /// A client that cannot ask its user must not call it.
    pub(crate) always_confirms: bool,
    pub(crate) is_idempotent: bool,
    pub(crate) is_destructive: bool,
}

/// Problems of a tool, each with the position of its parameter if it is about one.
#[derive(Default)]
struct Problems(Vec<(Option<usize>, String)>);

// === impl Definition ===

impl Definition {
    /// Reads an entry of the list of tools. The errors have the way to the entry that is wrong.
    pub(crate) fn read(
        entry: Yaml,
        index: usize,
        environment: &Environment,
    ) -> Result<Self, Vec<(Vec<Step<'static>>, String)>> {
        let named = entry.get("name").and_then(Yaml::as_str).map(str::to_owned);
        let named = named.filter(|name| !name.trim().is_empty());
        let mut problems = Problems::default();
        let raw: Result<RawTool, _> = serde_yaml::from_value(entry);
        let read = match raw {
            Ok(raw) => Self::check(raw, environment, &mut problems),
            Err(error) => {
                problems.add(error.to_string());
                None
            }
        };
        match read {
            Some(definition) if problems.0.is_empty() => Ok(definition),
            _ => Err(problems.located(index, named.as_deref())),
        }
    }

    /// Returns whether a parameter has values that are not shown: it is sensitive, or filled with a
    /// fact about the caller.
    pub(crate) fn has_secret_values(&self) -> bool {
        let mut parameters = self.parameters.iter();
        parameters.any(|parameter| parameter.is_sensitive || !parameter.is_open())
    }

    /// Returns the role of a caller in the database, if a parameter is filled with it.
    pub(crate) fn role(
        &self,
        databases: &Databases,
        identity: Option<&Identity>,
    ) -> Option<String> {
        let is_it = |filling: &Filling| matches!(filling, Filling::Bound(Fact::Role));
        let mut parameters = self.parameters.iter();
        parameters
            .any(|parameter| is_it(&parameter.filling))
            .then(|| databases.role(identity, self.database.as_deref()))?
    }

    fn check(raw: RawTool, environment: &Environment, problems: &mut Problems) -> Option<Self> {
        let name = problems.take(name(raw.name, environment));
        let description = problems.take(description(raw.description));
        let database = raw.database;
        let known = database.as_deref().and_then(|it| environment.database(it));
        if let (Some(database), None) = (&database, known) {
            problems.add(format!("unknown database: {database}"));
        }
        let shape = problems.take(Shape::read(raw.result.as_deref()));
        let timeout = raw.timeout.map(|text| {
            duration::parse(&text)
                .ok()
                .filter(|timeout| !timeout.is_zero())
                .ok_or(Problem::from("timeout is not a duration such as 5s"))
        });
        let timeout = problems.take(timeout.transpose());
        problems.take(row_limit(raw.row_limit, known, environment));
        let write = if raw.write == Some(true) {
            problems.take(may_write(database.as_deref(), known));
            let always = problems.take(always_confirms(raw.confirm.as_deref()));
            Some(Write {
                always_confirms: always.unwrap_or(true),
                is_idempotent: raw.idempotent.unwrap_or(false),
                is_destructive: raw.destructive.unwrap_or(true),
            })
        } else {
            let always = problems.take(always_confirms(raw.confirm.as_deref()));
            let for_writing = [
                ("confirm: always", always == Some(true)),
                ("idempotent", raw.idempotent == Some(true)),
                ("destructive", raw.destructive.is_some()),
            ];
            for (key, _) in for_writing.iter().filter(|(_, is_set)| *is_set) {
                problems.add(format!("{key} needs write: true"));
            }
            None
        };
        let parameters = parameters::read(raw.parameters.unwrap_or_default(), problems);
        let template = statement(raw.statement, parameters.as_deref(), known, write, problems);
        Some(Self {
            name: name?,
            title: raw.title,
            description: description?,
            database,
            template: template?,
            parameters: parameters?,
            shape: shape?,
            empty: raw.empty,
            row_limit: raw.row_limit,
            timeout: timeout?,
            write,
            is_unmasked: raw.unmasked.unwrap_or(false),
            place: String::new(),
            local: environment.local.clone(),
        })
    }

    /// Returns the statement for values of its parameters.
    pub(crate) fn statement(&self, values: &[Option<Checked>]) -> String {
        self.template.render(|index| {
            let at = match values.get(index) {
                Some(Some(Checked::Name(at))) => *at,
                _ => 0,
            };
            match &self.parameters[index].kind {
                Kind::Identifier(allowed) => &allowed[at],
                _ => "",
            }
        })
    }

    /// Returns all statements that its names make.
    pub(crate) fn statements(&self) -> Vec<String> {
        statements(&self.template, &self.parameters)
    }
}

/// Checks a statement with each combination of names.
fn statement(
    text: Option<String>,
    parameters: Option<&[Parameter]>,
    database: Option<&Arc<Database>>,
    write: Option<Write>,
    problems: &mut Problems,
) -> Option<Template> {
    let text = text.unwrap_or_default();
    let text = text
        .trim()
        .trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    if text.is_empty() {
        problems.add("statement is required".to_owned());
        return None;
    }
    if text.len() > MAX_STATEMENT {
        problems.add(format!("statement is longer than {MAX_STATEMENT} bytes"));
        return None;
    }
    // With a wrong parameter, the problems of its placeholders would be wrong too.
    let parameters = parameters?;
    let template = match Template::read(text, parameters) {
        Ok(template) => template,
        Err(found) => {
            problems.0.extend(found);
            return None;
        }
    };
    let combinations = parameters.iter().map(|parameter| match &parameter.kind {
        Kind::Identifier(allowed) => allowed.len(),
        _ => 1,
    });
    let combinations = combinations.fold(1_usize, usize::saturating_mul);
    if combinations > MAX_STATEMENTS {
        problems.add(format!(
            "identifiers have {combinations} combinations, at most {MAX_STATEMENTS}"
        ));
        return None;
    }
    for text in statements(&template, parameters) {
        if let Err(refusal) = guard(&text, database, write.is_some()) {
            problems.add(match refusal {
                Refusal::Several => "statement holds more than one statement".to_owned(),
                refusal => refusal.to_string(),
            });
            return None;
        }
    }
    Some(template)
}

fn statements(template: &Template, parameters: &[Parameter]) -> Vec<String> {
    let lists: Vec<&[String]> = parameters
        .iter()
        .map(|parameter| match &parameter.kind {
            Kind::Identifier(allowed) => &allowed[..],
            _ => &[],
        })
        .collect();
    let count = lists.iter().map(|list| list.len().max(1)).product();
    let one = |number: usize| {
        template.render(|index| {
            let before: usize = lists[..index]
                .iter()
                .map(|list| list.len().max(1))
                .product();
            &lists[index][number / before % lists[index].len()]
        })
    };
    (0..count).map(one).collect()
}

fn guard(text: &str, database: Option<&Arc<Database>>, writes: bool) -> Result<(), Refusal> {
    let policy = if writes {
        Policy::writable()
    } else {
        Policy::read_only()
    };
    let dangerous = database.is_some_and(|it| it.allows_dangerous_functions());
    match policy.with_dangerous_functions(dangerous).check(text)? {
        shape if shape.is_several() => Err(Refusal::Several),
        shape if shape.copies_through_the_client() => Err(Refusal::Copy),
        _ => Ok(()),
    }
}

fn name(name: Option<String>, environment: &Environment) -> Result<String, Problem> {
    let name = name.filter(|name| !name.trim().is_empty());
    match name.ok_or(Problem::Missing("name"))? {
        name if !is_name(&name) => Err(Problem::Invalid("tool name", name)),
        name if environment.tools.contains(&name) => Err(Problem::Duplicate("tool name", name)),
        name => Ok(name),
    }
}

/// Returns whether a text is a name of a tool or a parameter.
fn is_name(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(is_word)
}

fn description(text: Option<String>) -> Result<String, Problem> {
    let text = text.filter(|text| !text.trim().is_empty());
    let text = text.ok_or(Problem::Missing("description"))?;
    if text.chars().count() > MAX_DESCRIPTION {
        return Err(Problem::TooLong("description", MAX_DESCRIPTION));
    }
    Ok(text)
}

fn row_limit(
    rows: Option<u32>,
    database: Option<&Arc<Database>>,
    environment: &Environment,
) -> Result<(), Problem> {
    let limits = match database {
        Some(database) => vec![database.row_limit()],
        None => environment
            .databases
            .iter()
            .map(|it| it.row_limit())
            .collect(),
    };
    let most = limits.into_iter().fold(MAX_ROWS, u32::max);
    if rows.is_none_or(|rows| (1..=most).contains(&rows)) {
        Ok(())
    } else {
        Err(format!("row_limit is not from 1 to {most}").into())
    }
}

fn may_write(name: Option<&str>, database: Option<&Arc<Database>>) -> Result<(), Problem> {
    match (name, database) {
        (None, _) => Err("write needs a database".into()),
        (Some(name), Some(database)) if !database.allows_writes() => {
            Err(format!("database '{name}' does not allow writes").into())
        }
        _ => Ok(()),
    }
}

fn always_confirms(confirm: Option<&str>) -> Result<bool, Problem> {
    match confirm {
        None | Some("ask") => Ok(false),
        Some("always") => Ok(true),
        Some(other) => Err(Problem::Invalid("confirm", other.to_owned())),
    }
}

// === impl Shape ===

impl Shape {
    fn read(name: Option<&str>) -> Result<Self, Problem> {
        match name.unwrap_or("rows") {
            "rows" => Ok(Self::Rows),
            "value" => Ok(Self::Value),
            "record" => Ok(Self::Record),
            "json" => Ok(Self::Json),
            "markdown" => Ok(Self::Markdown),
            other => Err(Problem::Invalid("result", other.to_owned())),
        }
    }
}

// === impl Problems ===

impl Problems {
    fn add(&mut self, problem: String) {
        self.0.push((None, problem));
    }

    fn take<T>(&mut self, read: Result<T, Problem>) -> Option<T> {
        read.map_err(|problem| self.add(causes(&problem))).ok()
    }

    /// Returns the problems of the tool at a position of the list.
    fn located(self, index: usize, name: Option<&str>) -> Vec<(Vec<Step<'static>>, String)> {
        let tool = name.map_or_else(|| format!("tool {index}"), |name| format!("tool '{name}'"));
        let located = |(parameter, problem): (Option<usize>, String)| {
            let mut path = vec![Step::Key("tools"), Step::Index(index)];
            if let Some(at) = parameter {
                path.extend([Step::Key("parameters"), Step::Index(at)]);
            }
            (path, format!("{tool}: {problem}"))
        };
        self.0.into_iter().map(located).collect()
    }
}
