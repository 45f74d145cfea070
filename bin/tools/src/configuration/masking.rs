//! Masked columns of databases.

#[cfg(test)]
mod tests;

use std::{fs, sync::Arc};

use ziggurat_audit::StatementForm;
use ziggurat_callers::Callers;
use ziggurat_databases::{MaskedCallers, Masks};
use ziggurat_masking::{Key, Mask, Pattern, Shape};
use ziggurat_postgres::database::{CallerRoles, Enforcement, MaskRule, Masking};
use ziggurat_runtime::config::{Section, Value};
use ziggurat_sql::{Lexer, Token};
use ziggurat_tokens::CallerNames;

use crate::configuration::Entry;

/// Text of a mask that names no other.
const TEXT: &str = "***";

/// Reads the section `masking` into the databases that it names.
pub(super) fn read(file: &Section<'_>, databases: &mut [Entry]) {
    let section = file.section("masking");
    let enforcement = section.key("enforce").parsed(enforcement);
    let enforcement = enforcement.unwrap_or(Enforcement::Plan);
    let key = key(&section.key("key_file"));
    let functions = functions(&section.key("functions"));
    let lists = section.section("databases");
    for entry in databases {
        let name = entry.database.name().to_owned();
        let list = lists.key(&name);
        let Some(columns) = list.list().filter(|columns| !columns.is_empty()) else {
            continue;
        };
        let is_safe = !entry.database.allows_dangerous_functions();
        list.check(is_safe, "cannot be used with allow_dangerous_functions");
        let read = columns
            .into_iter()
            .map(|column| rule(&column.into_section(), key.as_ref()));
        let (rules, callers): (Vec<_>, Vec<MaskedCallers>) = read.unzip();
        let masking = Masking::new(enforcement, rules, functions.clone());
        let masking = match entry.callers.as_ref().and_then(role_names) {
            None => masking,
            Some(names) => masking.with_roles(caller_roles(names, &callers)),
        };
        let masking = Arc::new(masking);
        entry.masks = Some(Masks { masking, callers });
    }
}

/// Returns the names of roles in rules; `None` if callers have no roles of their own.
fn role_names(callers: &Callers) -> Option<Vec<String>> {
    callers.way.as_ref()?;
    let rules = callers.roles.iter().map(|rule| &rule.role);
    let names = rules.filter(|role| !role.contains('{'));
    Some(names.chain(&callers.otherwise).cloned().collect())
}

/// Returns the roles of callers, and the rules that hold for each of them.
fn caller_roles(names: Vec<String>, callers: &[MaskedCallers]) -> CallerRoles {
    let all = MaskedCallers::default();
    CallerRoles {
        names,
        holds_for_all: callers.iter().map(|it| *it == all).collect(),
    }
}

/// Returns the form in which statements are recorded: literals of a text may be masked values.
pub(super) fn recorded(
    file: &Section<'_>,
    databases: &[Entry],
    form: StatementForm,
) -> StatementForm {
    if form == StatementForm::Text && databases.iter().any(|it| it.masks.is_some()) {
        file.warn("audit.statement is normalized, since columns are masked");
        return StatementForm::Normalized;
    }
    form
}

fn enforcement(text: &str) -> Result<Enforcement, &'static str> {
    match text {
        "origin" => Ok(Enforcement::Origin),
        "plan" => Ok(Enforcement::Plan),
        "privileges" => Ok(Enforcement::Privileges),
        _ => Err("must be origin, plan or privileges"),
    }
}

/// Reads the key of hashes.
fn key(file: &Value<'_>) -> Option<Key> {
    let path = file.resolved_path()?;
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            file.problem(format_args!("cannot read {}: {error}", path.display()));
            return None;
        }
    };
    let read = Key::new(bytes.trim_ascii());
    read.map_err(|error| file.problem(error)).ok()
}

/// Reads the names of functions, with their schemas.
fn functions(key: &Value<'_>) -> Vec<String> {
    let written = key.texts().unwrap_or_default().into_iter();
    let names = written.filter_map(|text| {
        let names = names(&text);
        if let [schema, name] = &*names {
            return Some(format!("{schema}.{name}"));
        }
        key.problem(format_args!("not a schema and a function: {text}"));
        None
    });
    names.collect()
}

/// Reads names with dots between them, as a statement has them.
fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (place, token) in Lexer::new(text).enumerate() {
        match token {
            Token::Symbol(b'.') if place % 2 == 1 => {}
            token if place % 2 == 0 => match token.identifier() {
                Some(name) => names.push(name.into_owned()),
                None => return Vec::new(),
            },
            _ => return Vec::new(),
        }
    }
    names
}

/// Reads a column, its mask, and the callers that it is for.
fn rule(file: &Section<'_>, key: Option<&Key>) -> (MaskRule, MaskedCallers) {
    let column = file.key("column");
    let written = column.required(column.text());
    let [schema, table, name] = <[String; 3]>::try_from(names(&written)).unwrap_or_else(|_| {
        column.check(written.is_empty(), "must be a schema, a table and a column");
        Default::default()
    });
    let whole = format!("{schema}.{table}.{name}");
    let text = file.key("text");
    let shape = shape(file, key, &whole);
    let has_text = !matches!(shape, Shape::Null | Shape::Hash { .. } | Shape::Drop);
    text.check(
        has_text || !file.names_key("text"),
        "does not apply to this mask",
    );
    let callers = |name: &str| {
        let section = file.section(name);
        let names = file.names_key(name) || section.is_present();
        names.then(|| CallerNames::read_with_scopes(&section))
    };
    let rule = MaskRule {
        schema,
        table,
        column: name,
        mask: Mask::new(shape, text.text().as_deref().unwrap_or(TEXT)),
    };
    let callers = MaskedCallers {
        only: callers("for"),
        unless: callers("unless"),
    };
    (rule, callers)
}

/// Reads the form of masked values.
fn shape(file: &Section<'_>, key: Option<&Key>, column: &str) -> Shape {
    let (mask, patterns, label) = (file.key("mask"), file.key("patterns"), file.key("label"));
    // YAML has a null of its own.
    let is_null = || file.names_key("mask").then(|| "null".to_owned());
    let (named, label_text) = (mask.text().or_else(is_null), label.text());
    let found = patterns.texts().map(|names| {
        patterns.check(!names.is_empty(), "names no pattern");
        let read = names.iter().filter_map(|name| {
            let pattern = Pattern::read(name);
            patterns.check(pattern.is_some(), "must be card, iban or email");
            pattern
        });
        read.collect()
    });
    let shape = match (named.as_deref(), found) {
        (Some(_), Some(_)) => {
            file.problem("has a mask and patterns");
            Shape::Fixed
        }
        (None, Some(found)) => Shape::Patterns(found),
        (Some("fixed"), _) => Shape::Fixed,
        (Some("null"), _) => Shape::Null,
        (Some("last4"), _) => Shape::Last4,
        (Some("email"), _) => Shape::Email,
        (Some("drop"), _) => Shape::Drop,
        (Some("hash"), _) => {
            mask.check(key.is_some(), "hash needs masking.key_file");
            let label = label_text.clone();
            key.map_or(Shape::Fixed, |key| Shape::Hash {
                key: key.clone(),
                label: label.unwrap_or_else(|| column.to_owned()),
            })
        }
        (Some(_), _) => {
            mask.problem("must be fixed, null, hash, last4, email or drop");
            Shape::Fixed
        }
        (None, None) => {
            file.problem("needs a mask or patterns");
            Shape::Fixed
        }
    };
    let takes_label = matches!(shape, Shape::Hash { .. }) || named.as_deref() == Some("hash");
    label.check(
        takes_label || label_text.is_none(),
        "does not apply to this mask",
    );
    shape
}
