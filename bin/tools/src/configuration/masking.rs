//! Masked columns of databases.

#[cfg(test)]
mod tests;

use ziggurat_audit::StatementForm;
use ziggurat_callers::{Callers, MaskedCallers, Masks, dotted_names, mask_key};
use ziggurat_postgres::database::{CallerRoles, Enforcement, Masking};
use ziggurat_runtime::config::{Section, Value};

use crate::configuration::Entry;

/// Reads the section `masking` into the databases that it names.
pub(super) fn read(file: &Section<'_>, databases: &mut [Entry]) {
    let section = file.section("masking");
    let enforcement = section.key("enforce").parsed(enforcement);
    let enforcement = enforcement.unwrap_or(Enforcement::Plan);
    let key = mask_key(&section.key("key_file"));
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
        let names = entry.callers.as_ref().and_then(role_names);
        entry.masks = Some(Masks::read(columns, key.as_ref(), |rules, callers| {
            let masking = Masking::new(enforcement, rules, functions.clone());
            match names {
                Some(names) => masking.with_roles(caller_roles(names, callers)),
                None => masking,
            }
        }));
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

/// Reads the names of functions, with their schemas.
fn functions(key: &Value<'_>) -> Vec<String> {
    let written = key.texts().unwrap_or_default().into_iter();
    let names = written.filter_map(|text| {
        let names = dotted_names(&text);
        if let [schema, name] = &*names {
            return Some(format!("{schema}.{name}"));
        }
        key.problem(format_args!("not a schema and a function: {text}"));
        None
    });
    names.collect()
}
