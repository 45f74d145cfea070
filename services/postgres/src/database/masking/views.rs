//! Views that show masked columns.
//!
//! PostgreSQL tells of each column of a query which column of which relation it is, so the
//! definition of a view tells where its columns come from.

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_sql::{Lexer, Token};

use crate::{
    database::masking::{
        MaskRule,
        load::{Coverage, Hit, Kind, Relation, ask, is_refused_function, number},
        taint::renames_columns,
    },
    driver::{Client, DriverError, Event, Field, Value},
};

/// A view that depends on relations with masked columns.
struct View {
    oid: u32,
    relation: Relation,
    definition: String,
    /// Columns that it depends on; zero for the relation itself.
    needs: BTreeSet<(u32, u16)>,
    /// Numbers and names of its own columns.
    columns: Vec<(u16, String)>,
}

/// The views that depend on relations, or on functions that may not be called, and in turn on these
/// views.
fn reached() -> String {
    format!(
        "WITH RECURSIVE calling (oid) AS (
            SELECT r.ev_class FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            JOIN pg_depend e ON e.refclassid = 'pg_proc'::regclass AND e.refobjid = p.oid
            JOIN pg_rewrite r ON e.classid = 'pg_rewrite'::regclass AND r.oid = e.objid
            WHERE r.ev_type = '1' AND {}),
        reached (oid) AS (
            (SELECT unnest($2)::oid UNION SELECT oid FROM calling)
            UNION
            SELECT r.ev_class FROM reached v
            JOIN pg_depend e ON e.refclassid = 'pg_class'::regclass AND e.refobjid = v.oid
            JOIN pg_rewrite r ON e.classid = 'pg_rewrite'::regclass AND r.oid = e.objid
            WHERE r.ev_type = '1')",
        is_refused_function()
    )
}

const VIEWS: &str = "SELECT c.oid, n.nspname, c.relname, c.relkind,
        pg_get_viewdef(c.oid), c.oid IN (SELECT oid FROM calling)
    FROM reached v JOIN pg_class c ON c.oid = v.oid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('v', 'm')";

const NEEDS: &str = "SELECT DISTINCT r.ev_class, e.refobjid, e.refobjsubid
    FROM reached v JOIN pg_rewrite r ON r.ev_class = v.oid AND r.ev_type = '1'
    JOIN pg_depend e ON e.classid = 'pg_rewrite'::regclass AND e.objid = r.oid
    WHERE e.refclassid = 'pg_class'::regclass AND e.refobjid IN (SELECT oid FROM reached)
        AND e.refobjid <> r.ev_class";

const COLUMNS: &str = "SELECT a.attrelid, a.attnum, a.attname
    FROM reached v JOIN pg_class c ON c.oid = v.oid AND c.relkind IN ('v', 'm')
    JOIN pg_attribute a ON a.attrelid = v.oid
    WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum";

/// Adds the masked columns of views.
pub(super) async fn add(
    coverage: &mut Coverage,
    client: &mut Client,
    rules: &[MaskRule],
    allowed: Value,
) -> Result<(), DriverError> {
    let mut views = read(client, [allowed, coverage.oids()]).await?;
    // Each after the views that it depends on.
    while !views.is_empty() {
        let waits = |view: &View| view.needs.iter().any(|(oid, _)| views.contains_key(oid));
        let ready = views.values().find(|view| !waits(view));
        let next = ready.or(views.values().next()).map(|view| view.oid);
        let Some(view) = next.and_then(|oid| views.remove(&oid)) else {
            break;
        };
        let origins = origins(client, &view).await?;
        view.add(coverage, rules, origins);
    }
    Ok(())
}

async fn read(client: &mut Client, values: [Value; 2]) -> Result<BTreeMap<u32, View>, DriverError> {
    let reached = reached();
    let mut views = BTreeMap::new();
    for row in ask(client, &format!("{reached} {VIEWS}"), values.clone()).await? {
        let oid = number(&row, 0)?;
        let mut relation = Relation::read(&row, 1)?;
        relation.calls = row.text(5)? == "t";
        let view = View {
            oid,
            relation,
            definition: row.get(4)?,
            needs: BTreeSet::new(),
            columns: Vec::new(),
        };
        views.insert(oid, view);
    }
    if views.is_empty() {
        return Ok(views);
    }
    for row in ask(client, &format!("{reached} {NEEDS}"), values.clone()).await? {
        if let Some(view) = views.get_mut(&number(&row, 0)?) {
            // The columns of the system have negative numbers.
            let column = number(&row, 2).unwrap_or_default();
            view.needs.insert((number(&row, 1)?, column));
        }
    }
    for row in ask(client, &format!("{reached} {COLUMNS}"), values).await? {
        if let Some(view) = views.get_mut(&number(&row, 0)?) {
            view.columns.push((number(&row, 1)?, row.get(2)?));
        }
    }
    Ok(views)
}

/// Returns the origins of the columns of a view; `None` if PostgreSQL does not prepare it.
async fn origins(client: &mut Client, view: &View) -> Result<Option<Vec<(u32, i16)>>, DriverError> {
    let text = view.definition.trim_end().trim_end_matches(';');
    client.queue_parse(text);
    client.flush().await?;
    let mut origins = None;
    loop {
        match client.next().await {
            Ok(Some(Event::Columns(fields))) => {
                origins = Some(fields.iter().map(|it: &Field| it.origin).collect());
            }
            Ok(Some(_)) | Err(DriverError::Server(_)) => {}
            Ok(None) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(origins)
}

// === impl View ===

impl View {
    /// Adds its masked columns.
    fn add(self, coverage: &mut Coverage, rules: &[MaskRule], origins: Option<Vec<(u32, i16)>>) {
        let origins = origins.filter(|origins| origins.len() == self.columns.len());
        let used = self.used(coverage, rules, origins.is_none());
        let is_kept = self.relation.kind == Kind::Kept;
        let calls = self.relation.calls;
        // PostgreSQL may call such a function before the plan is made, or where no plan shows it.
        let is_opaque = !is_kept && (calls || self.is_opaque(coverage));
        let known = coverage.relations.entry(self.oid).or_insert(self.relation);
        known.calls |= calls;
        known.is_opaque |= is_opaque;
        for (place, (number, name)) in self.columns.iter().enumerate() {
            let origin = origins.as_ref().map(|origins| origins[place]);
            let column = (self.oid, *number);
            let origin = origin.filter(|(oid, number)| *oid != 0 && *number > 0);
            if let Some((oid, from)) = origin {
                let from = u16::try_from(from).unwrap_or_default();
                let hits = coverage.columns.get(&(oid, from)).map(|it| it.hits.clone());
                for hit in hits.unwrap_or_default() {
                    coverage.add(column, name, hit);
                }
                continue;
            }
            let source = if is_kept {
                coverage.source_of(self.oid, name)
            } else {
                None
            };
            for &rule in &used {
                let is_derived = true;
                coverage.add(
                    column,
                    name,
                    Hit {
                        rule,
                        source,
                        is_derived,
                    },
                );
            }
        }
    }

    /// Returns whether a plan does not have the names of the columns behind it.
    fn is_opaque(&self, coverage: &Coverage) -> bool {
        let needed = |oid: u32| self.needs.iter().any(|(needed, _)| *needed == oid);
        let mut behind = coverage.relations.iter().filter(|(oid, _)| needed(**oid));
        let is_table = |name: &str| {
            let mut all = coverage.relations.values();
            all.any(|it| it.name.to_lowercase() == name)
        };
        behind.any(|(_, relation)| relation.is_opaque)
            || renames_columns(&self.definition, is_table)
    }

    /// Returns the rules for the columns that its computed columns may be made of.
    fn used(&self, coverage: &Coverage, rules: &[MaskRule], is_unknown: bool) -> BTreeSet<usize> {
        let is_whole = |rule: &usize| !rules[*rule].mask.is_partial();
        if self.relation.calls {
            return (0..rules.len()).filter(is_whole).collect();
        }
        let has_row = is_unknown || has_whole_row(&self.definition);
        let is_used = |column: &(u32, u16)| {
            let is_of_row = has_row && self.needs.iter().any(|(oid, _)| *oid == column.0);
            is_of_row || self.needs.contains(column)
        };
        let columns = coverage.columns.iter();
        let used = columns.filter(|(column, _)| is_used(column));
        let rules = used
            .flat_map(|(_, column)| &column.hits)
            .map(|hit| hit.rule);
        rules.filter(is_whole).collect()
    }
}

/// Returns whether a definition uses whole rows, which no dependency shows.
fn has_whole_row(definition: &str) -> bool {
    let tokens: Vec<_> = Lexer::new(definition).collect();
    let row = [Token::Symbol(b'.'), Token::Symbol(b'*')];
    tokens.windows(2).any(|pair| pair == row)
}
