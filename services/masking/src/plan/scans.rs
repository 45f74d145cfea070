//! The tables of a plan, by the names that it gives them.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::plan::{Guard, MaskedColumn};

/// The tables of a plan, by alias.
pub(super) struct Scans<'a> {
    guard: &'a Guard<'a>,
    /// The masked columns of each; a table without any has an empty list.
    tables: HashMap<&'a str, Vec<&'a MaskedColumn>>,
}

/// The sources of the masked columns that a name may be.
pub(super) struct Ambiguous(pub(super) Vec<usize>);

// === impl Scans ===

impl<'a> Scans<'a> {
    /// Finds the tables of a plan; `None` if its members are not as expected.
    pub(super) fn of(top: &'a Map<String, Value>, guard: &'a Guard<'a>) -> Option<Self> {
        let tables = HashMap::new();
        let mut scans = Self { guard, tables };
        scans.add(top)?;
        Some(scans)
    }

    fn add(&mut self, node: &'a Map<String, Value>) -> Option<()> {
        let text = |key: &str| match node.get(key) {
            Some(value) => value.as_str().map(Some),
            None => Some(None),
        };
        if let Some(alias) = text("Alias")? {
            let columns = self.tables.entry(alias).or_default();
            if let Some(relation) = text("Relation Name")? {
                let schema = text("Schema")??;
                columns.extend(
                    self.guard
                        .columns
                        .iter()
                        .filter(|it| it.relation == relation && it.schema == schema),
                );
            }
        } else if node.contains_key("Relation Name") {
            return None;
        }
        for plan in node
            .get("Plans")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.add(plan.as_object()?)?;
        }
        Some(())
    }

    /// Returns a table with masked columns.
    pub(super) fn table(&self) -> Option<&'a str> {
        let columns = self.tables.values().flatten();
        let source = columns.map(|it| it.source).min()?;
        self.guard.sources.get(source).map(|it| &*it.table)
    }

    /// Returns the masked columns that an alias may stand for.
    ///
    /// The parent of partitions or children has an alias and no scan: the scans of its children have
    /// its alias with a number. Columns of an alias that is not known may be any.
    fn columns(&self, alias: Option<&str>) -> Vec<&'a MaskedColumn> {
        if let Some(alias) = alias {
            if let Some(columns) = self.tables.get(alias) {
                return columns.clone();
            }
            let is_child = |name: &str| {
                let number = name.strip_prefix(alias).and_then(|it| it.strip_prefix('_'));
                number.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()))
            };
            let mut children = self
                .tables
                .iter()
                .filter(|(name, _)| is_child(name))
                .peekable();
            if children.peek().is_some() {
                return children
                    .flat_map(|(_, columns)| columns.iter().copied())
                    .collect();
            }
        } else if !self.tables.is_empty() {
            // Of a single table, PostgreSQL leaves the alias out.
            return self.tables.values().flatten().copied().collect();
        }
        self.guard.columns.iter().collect()
    }

    /// Returns the source of a masked column with this name.
    pub(super) fn masked(
        &self,
        qualifier: Option<&str>,
        name: &str,
    ) -> Result<Option<usize>, Ambiguous> {
        let columns = self.columns(qualifier).into_iter();
        let sources = columns.filter(|it| it.column == name).map(|it| it.source);
        let mut sources: Vec<_> = sources.collect();
        sources.dedup();
        match *sources {
            [] => Ok(None),
            [source] => Ok(Some(source)),
            _ => Err(Ambiguous(sources)),
        }
    }

    /// Returns the source of a masked column of an alias.
    pub(super) fn tainted(&self, alias: &str) -> Option<usize> {
        self.columns(Some(alias)).first().map(|it| it.source)
    }
}
