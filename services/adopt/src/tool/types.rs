//! Our types for the types of PostgreSQL.

use crate::tool::parameter::{Declared, Parameter};

/// The type of a parameter here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Typed {
    pub(super) kind: &'static str,
    /// The type of the values of a list.
    pub(super) items: Option<&'static str>,
    /// The cast that the statement needs.
    pub(super) cast: Option<String>,
    /// The type in PostgreSQL, if it is known.
    known: Option<String>,
}

// === impl Typed ===

impl Typed {
    /// Chooses the type: PostgreSQL's, if it is known.
    pub(super) fn of(parameter: &Parameter, known: Option<&str>) -> Self {
        let declared = &parameter.declared;
        let (kind, items, cast) = match (declared, known) {
            (Declared::List(items), Some(known)) => match known.strip_suffix("[]") {
                Some(element) => {
                    let (item, cast) = one(items, Some(element), parameter);
                    ("array", Some(item), cast.map(|cast| format!("{cast}[]")))
                }
                None => ("json", None, cast_to(known, "jsonb")),
            },
            (Declared::List(items), None) => {
                let (item, cast) = one(items, None, parameter);
                ("array", Some(item), cast.map(|cast| format!("{cast}[]")))
            }
            (declared, known) => {
                let (kind, cast) = one(declared, known, parameter);
                (kind, None, cast)
            }
        };
        Self {
            kind,
            items,
            cast,
            known: known.map(str::to_owned),
        }
    }

    /// Names the difference from the declared type.
    pub(super) fn change(&self, parameter: &Parameter) -> Option<String> {
        let declared = match &parameter.declared {
            Declared::List(_) => "array",
            other => scalar(other),
        };
        let known = self.known.as_deref().filter(|_| declared != self.kind)?;
        let (name, kind) = (&parameter.name, self.kind);
        Some(format!(
            "parameter {name}: {kind}, because it is {known} in PostgreSQL"
        ))
    }
}

fn cast_to(known: &str, ours: &str) -> Option<String> {
    (known != ours).then(|| known.to_owned())
}

fn scalar(declared: &Declared) -> &'static str {
    match declared {
        Declared::Text | Declared::List(_) => "string",
        Declared::Integer => "integer",
        Declared::Float => "number",
        Declared::Boolean => "boolean",
        Declared::Map => "json",
    }
}

/// Chooses the type and the cast of a single value.
fn one(
    declared: &Declared,
    known: Option<&str>,
    parameter: &Parameter,
) -> (&'static str, Option<String>) {
    let Some(known) = known else {
        let cast = (*declared == Declared::Float).then(|| "float8".to_owned());
        return (scalar(declared), cast);
    };
    let is_text = *declared == Declared::Text;
    // Only texts and whole numbers can have a list of values here.
    let is_listed = !parameter.allowed.is_empty() || parameter.pattern.is_some();
    let are_whole = parameter.allowed.iter().all(|it| it.parse::<i64>().is_ok());
    match known {
        "bigint" | "integer" | "smallint" if !is_listed || are_whole => {
            ("integer", cast_to(known, "bigint"))
        }
        "numeric" if !is_listed => ("number", None),
        "double precision" if !is_listed => ("number", Some("float8".to_owned())),
        "real" if !is_listed => ("number", Some("real".to_owned())),
        "boolean" if !is_listed => ("boolean", None),
        "uuid" if is_text && !is_listed => ("uuid", None),
        "date" if is_text && !is_listed => ("date", None),
        "timestamp with time zone" if is_text && !is_listed => ("timestamp", None),
        "jsonb" if !is_listed => ("json", None),
        known => {
            let kind = scalar(declared);
            let own = match kind {
                "integer" => "bigint",
                "number" => "numeric",
                "boolean" => "boolean",
                "json" => "jsonb",
                _ => "text",
            };
            (kind, cast_to(known, own))
        }
    }
}
