//! The check of a plan: masked columns may only pass through it to the result.
//!
//! It reads what `EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON)` prints for a query, for the versions of
//! PostgreSQL from 14 on, and refuses whatever it does not understand.
//!
//! ```
//! use std::collections::{HashMap, HashSet};
//! use ziggurat_masking::plan::{self, Guard, MaskedColumn, Source};
//!
//! let ssn = MaskedColumn {
//!     schema: "public".into(), relation: "person".into(), column: "ssn".into(), source: 0,
//! };
//! let guard = Guard {
//!     columns: &[ssn],
//!     sources: &[Source { table: "public.person".into(), column: "ssn".into() }],
//!     functions: &HashSet::new(),
//!     indexes: &HashMap::new(),
//!     results: &[],
//!     table: "public.person",
//!     version: 18,
//! };
//! let plan = r#"[{"Plan": {"Node Type": "Seq Scan", "Schema": "public", "Relation Name": "person",
//!     "Alias": "p", "Output": ["upper(p.ssn)"]}}]"#;
//! let refusal = plan::check(plan, &guard).expect_err("an expression");
//! let expected = "public.person.ssn is masked and can only be selected as it is";
//! assert_eq!(refusal.to_string(), expected);
//! ```

mod expression;
mod node;
mod scans;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use thiserror::Error;

use self::{
    expression::{Expression, Named},
    scans::{Ambiguous, Scans},
};

/// Facts about the masked columns that a plan is held against.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'a> {
    /// The masked columns of the tables that a plan may name.
    pub columns: &'a [MaskedColumn],
    /// The configured columns that these come from.
    pub sources: &'a [Source],
    /// Names of functions that may not be used.
    pub functions: &'a HashSet<String>,
    /// The indexes that have a masked column, and the place of its source.
    pub indexes: &'a HashMap<String, usize>,
    /// The source of each masked column of the result.
    pub results: &'a [usize],
    /// The table to name where no other is known.
    pub table: &'a str,
    /// Major version of the server.
    pub version: u32,
}

/// A masked column as a plan names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskedColumn {
    /// Schema of its table.
    pub schema: String,
    /// Name of its table.
    pub relation: String,
    /// Its name.
    pub column: String,
    /// Place of the configured column that it comes from.
    pub source: usize,
}

/// A configured column, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its table, with its schema.
    pub table: String,
    /// Its name.
    pub column: String,
}

/// A reason to refuse a query that uses masked columns.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A masked column is used in another way than to select it.
    #[error("{0} is masked and can only be selected as it is")]
    Column(String),
    /// A whole row has masked columns.
    #[error("a whole row of {0} cannot be used, it has masked columns")]
    WholeRow(String),
    /// A function could do anything with a value.
    #[error("{0} may not be used beside masked columns")]
    Function(String),
    /// The plan has something that is not understood.
    #[error("this form of query may not use {0}, which has masked columns")]
    Form(String),
    /// The text is not a query.
    #[error("only queries may use {0}, which has masked columns")]
    NotAQuery(String),
}

/// Masked columns in the list of a node: the source of each, by place.
type List = Vec<Option<usize>>;

/// A plan while it is checked.
struct Check<'a> {
    guard: &'a Guard<'a>,
    scans: Scans<'a>,
}

/// Checks the plan of a query.
///
/// # Errors
/// Fails if a masked column does more than to pass through, and on anything that is not understood.
pub fn check(explained: &str, guard: &Guard<'_>) -> Result<(), Refusal> {
    let form = || Refusal::Form(guard.table.to_owned());
    let plans: Vec<Map<String, Value>> = serde_json::from_str(explained).map_err(|_| form())?;
    let [plan] = &*plans else {
        return Err(form());
    };
    let Some(Value::Object(top)) = plan.get("Plan") else {
        return Err(form());
    };
    if !plan.keys().all(|key| node::BESIDE_PLAN.contains(&&**key)) {
        return Err(form());
    }
    let scans = Scans::of(top, guard).ok_or_else(form)?;
    let check = Check { guard, scans };
    let list = check.node(top)?;
    let mut sources: Vec<_> = list.into_iter().flatten().collect();
    let mut results = guard.results.to_vec();
    sources.sort_unstable();
    results.sort_unstable();
    if sources == results {
        return Ok(());
    }
    // The first that one of them has more often.
    let differs = sources.iter().zip(&results).find(|(one, two)| one != two);
    let longer = sources.iter().chain(&results).max();
    Err(match differs.map(|(one, two)| one.min(two)).or(longer) {
        Some(source) => guard.column(*source),
        None => form(),
    })
}

// === impl Guard ===

impl Guard<'_> {
    fn column(&self, source: usize) -> Refusal {
        match self.sources.get(source) {
            Some(Source { table, column }) => Refusal::Column(format!("{table}.{column}")),
            None => Refusal::Form(self.table.to_owned()),
        }
    }

    fn table_of(&self, source: usize) -> String {
        let source = self.sources.get(source);
        source.map_or_else(|| self.table.to_owned(), |it| it.table.clone())
    }
}

// === impl Check ===

impl Check<'_> {
    fn form(&self) -> Refusal {
        Refusal::Form(self.scans.table().unwrap_or(self.guard.table).to_owned())
    }

    /// Checks a node and all below it, and returns its list.
    fn node(&self, node: &Map<String, Value>) -> Result<List, Refusal> {
        let kind = node.get("Node Type").and_then(Value::as_str);
        let kind = kind.and_then(node::Kind::of).ok_or_else(|| self.form())?;
        let mut list = None;
        let mut children = Vec::new();
        for (key, value) in node {
            match (&**key, value) {
                ("Output", Value::Array(entries)) if !kind.appends() => {
                    list = Some(self.output(entries)?);
                }
                ("Plans", Value::Array(plans)) => {
                    for plan in plans {
                        let Value::Object(plan) = plan else {
                            return Err(self.form());
                        };
                        children.push((plan, self.node(plan)?));
                    }
                }
                ("Output" | "Plans", _) => return Err(self.form()),
                ("Function Name", Value::String(name)) => self.function(name)?,
                (key, value) if node::NAMES.contains(&key) => self.names(value)?,
                (_, value) => self.expressions(value)?,
            }
        }
        let list = match list {
            Some(list) => list,
            None => self.list_of_children(kind, &children)?,
        };
        let masked = list.iter().flatten().next();
        if let Some(source) = masked.filter(|_| !kind.passes_on()) {
            return Err(self.guard.column(*source));
        }
        self.has_no_order(node, &list)?;
        for (child, list) in &children {
            self.stays_inside(kind, child, list)?;
        }
        Ok(list)
    }

    /// Returns the list of a node that shows none.
    fn list_of_children(
        &self,
        kind: node::Kind,
        children: &[(&Map<String, Value>, List)],
    ) -> Result<List, Refusal> {
        if !kind.appends() {
            return Ok(List::new());
        }
        let mut members = children.iter().filter(|(child, _)| node::is_member(child));
        let Some((_, first)) = members.next() else {
            return Ok(List::new());
        };
        for (_, other) in members {
            if first != other {
                let mut sources = first.iter().chain(other).flatten();
                let source = sources.next().ok_or_else(|| self.form())?;
                return Err(self.guard.column(*source));
            }
        }
        Ok(first.clone())
    }

    /// Refuses masked columns that leave a part of the query, since other names hide them there.
    fn stays_inside(
        &self,
        kind: node::Kind,
        child: &Map<String, Value>,
        list: &List,
    ) -> Result<(), Refusal> {
        let is_part = kind.is_subquery() || node::is_part(child);
        match list.iter().flatten().next() {
            Some(source) if is_part => Err(self.guard.column(*source)),
            _ => Ok(()),
        }
    }

    /// Refuses rows in the order of a masked column: an index can give it, and then no other member
    /// of the plan names the column.
    fn has_no_order(&self, node: &Map<String, Value>, list: &List) -> Result<(), Refusal> {
        let name = node.get("Index Name").and_then(Value::as_str);
        let source = name.and_then(|name| self.guard.indexes.get(name));
        match source {
            Some(source) if list.contains(&None) => Err(self.guard.column(*source)),
            _ => Ok(()),
        }
    }

    /// Reads the list of a node.
    fn output(&self, entries: &[Value]) -> Result<List, Refusal> {
        let list = entries.iter().map(|entry| {
            let text = entry.as_str().ok_or_else(|| self.form())?;
            let expression = Expression::read(text).ok_or_else(|| self.form())?;
            match expression.column() {
                Some((qualifier, name)) => self.listed(qualifier, name),
                None => self.expression(&expression).map(|()| None),
            }
        });
        list.collect()
    }

    /// Returns the source of a column of a list.
    ///
    /// A table that cannot have rows has no scan, so its column may be any of that name. Then it is
    /// one that the result has, since for each of these the list has one column.
    fn listed(&self, qualifier: Option<&str>, name: &str) -> Result<Option<usize>, Refusal> {
        let Err(Ambiguous(sources)) = self.scans.masked(qualifier, name) else {
            return self.masked(qualifier, name);
        };
        let mut shown = sources.iter().filter(|it| self.guard.results.contains(it));
        match shown.next() {
            Some(source) => Ok(Some(*source)),
            None => Err(self.guard.column(sources[0])),
        }
    }

    fn masked(&self, qualifier: Option<&str>, name: &str) -> Result<Option<usize>, Refusal> {
        let found = self.scans.masked(qualifier, name);
        found.map_err(|Ambiguous(sources)| self.guard.column(sources[0]))
    }

    /// Checks the members of a node that are not known to be names or numbers.
    fn expressions(&self, value: &Value) -> Result<(), Refusal> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
            Value::String(text) => {
                let expression = Expression::read(text).ok_or_else(|| self.form())?;
                self.expression(&expression)
            }
            Value::Array(values) => values.iter().try_for_each(|it| self.expressions(it)),
            Value::Object(members) => members.values().try_for_each(|it| self.expressions(it)),
        }
    }

    /// Checks that names are texts, or lists of texts.
    fn names(&self, value: &Value) -> Result<(), Refusal> {
        match value {
            Value::Object(_) => Err(self.form()),
            Value::Array(values) => values.iter().try_for_each(|it| self.names(it)),
            _ => Ok(()),
        }
    }

    fn expression(&self, expression: &Expression<'_>) -> Result<(), Refusal> {
        // Before 17 a plan does not show the other side of the comparison with its rows.
        if self.guard.version < 17 && expression.has_subplan() {
            return Err(self.form());
        }
        for named in expression.named() {
            match named {
                Named::Call(name) => self.function(&name)?,
                Named::Column(qualifier, name) => {
                    if let Some(source) = self.masked(qualifier.as_deref(), &name)? {
                        return Err(self.guard.column(source));
                    }
                }
                Named::WholeRow(qualifier) => {
                    if let Some(source) = self.scans.tainted(&qualifier) {
                        return Err(Refusal::WholeRow(self.guard.table_of(source)));
                    }
                }
            }
        }
        Ok(())
    }

    fn function(&self, name: &str) -> Result<(), Refusal> {
        if self.guard.functions.contains(name) {
            return Err(Refusal::Function(name.to_owned()));
        }
        Ok(())
    }
}
