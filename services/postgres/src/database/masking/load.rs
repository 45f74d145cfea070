//! The columns that rules mask, looked up in the catalogue.

use std::collections::{BTreeSet, HashMap, HashSet};

use ziggurat_masking::plan::Source;

use crate::{
    database::masking::{MaskRule, views},
    driver::{Client, DriverError, Query, Row, Value, query},
};

/// Columns that rules mask, at one moment.
pub(crate) struct Coverage {
    /// By the OID of the table and the number of the column.
    pub(super) columns: HashMap<(u32, u16), Column>,
    pub(super) relations: HashMap<u32, Relation>,
    /// Names of the indexes that have a column, or use it.
    pub(super) indexes: HashMap<(u32, u16), Vec<String>>,
    /// Columns by the places that hits have, for messages.
    pub(super) sources: Vec<Source>,
    /// Names of functions that texts beside masked columns may not call.
    pub(super) functions: HashSet<String>,
    /// All relations of the database.
    known: HashSet<u32>,
    pub(super) version: u32,
    warnings: Vec<String>,
}

/// A masked column and the rules for it.
#[derive(Clone, Default)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) hits: Vec<Hit>,
}

/// A rule for a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) rule: usize,
    /// Place of the column that a plan shows, if a plan shows one.
    pub(super) source: Option<usize>,
    /// The values are made from values of the column of the rule.
    pub(super) is_derived: bool,
}

/// A relation with masked columns, or a view that could show some.
#[derive(Clone)]
pub(super) struct Relation {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// It is a view that calls a function of a user's schema.
    pub(super) calls: bool,
    /// A rule names a column of this view, which no plan shows.
    pub(super) is_opaque: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A plan names it.
    Table,
    /// A plan names the tables behind it.
    View,
    /// A view of which the rows are kept, so that a plan names it.
    Kept,
}

/// Schemas with functions of users.
pub(super) const USER_SCHEMA: &str =
    "n.nspname NOT IN ('pg_catalog', 'information_schema') AND left(n.nspname, 8) <> 'pg_toast'";

/// The columns of the rules, and the columns of the same names of all parents, children and
/// partitions.
const MEMBERS: &str = "WITH RECURSIVE members (place, oid, name) AS (
        SELECT w.place, a.attrelid, a.attname
        FROM unnest($1, $2, $3) WITH ORDINALITY AS w (nspname, relname, attname, place)
        JOIN pg_namespace n ON n.nspname = w.nspname
        JOIN pg_class r ON r.relnamespace = n.oid AND r.relname = w.relname
        JOIN pg_attribute a ON a.attrelid = r.oid AND a.attname = w.attname
        WHERE r.relkind IN ('r', 'p', 'v', 'm', 'f')
        UNION
        SELECT m.place, k.oid, m.name FROM members m CROSS JOIN LATERAL (
            SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = m.oid
            UNION ALL SELECT i.inhparent FROM pg_inherits i WHERE i.inhrelid = m.oid) AS k (oid))
    SELECT m.place, r.oid, n.nspname, r.relname, r.relkind, a.attnum, a.attname
    FROM members m JOIN pg_class r ON r.oid = m.oid JOIN pg_namespace n ON n.oid = r.relnamespace
    JOIN pg_attribute a ON a.attrelid = m.oid AND a.attname = m.name
    WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY m.place, r.oid";

/// The columns that are generated from columns of these relations. In version 14 a column depends on
/// them, and from 15 on its expression.
const GENERATED: &str = "SELECT d.refobjid, d.refobjsubid, a.attnum, a.attname
    FROM pg_depend d LEFT JOIN pg_attrdef e ON d.classid = 'pg_attrdef'::regclass AND e.oid = d.objid
    JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = coalesce(e.adnum, d.objsubid)
    WHERE (e.adrelid = d.refobjid OR d.classid = 'pg_class'::regclass AND d.objid = d.refobjid)
        AND d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT unnest($1)::oid)
        AND a.attgenerated <> '' AND d.refobjsubid NOT IN (0, a.attnum)";

/// The indexes of these relations, by the columns that they have or use.
const INDEXES: &str = "SELECT i.indrelid, a.attnum, c.relname
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum > 0
    WHERE i.indrelid IN (SELECT unnest($1)::oid) AND (a.attnum = ANY (i.indkey) OR EXISTS (
        SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
        AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
        AND d.refobjsubid IN (0, a.attnum)))";

/// The policies that use columns of these relations.
const POLICIES: &str = "SELECT DISTINCT d.refobjid, d.refobjsubid, p.polname
    FROM pg_depend d JOIN pg_policy p ON p.oid = d.objid
    WHERE d.classid = 'pg_policy'::regclass AND d.refclassid = 'pg_class'::regclass
        AND d.refobjid IN (SELECT unnest($1)::oid) AND d.refobjsubid > 0";

const KNOWN: &str = "SELECT oid FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 't')";

/// Returns the condition for a function that texts beside masked columns may not call.
///
/// An extension that gives a function of PostgreSQL other types, such as `sum`, is no reason to
/// refuse the name.
pub(super) fn is_refused_function() -> String {
    format!(
        "{USER_SCHEMA} AND NOT n.nspname || '.' || p.proname = ANY ($1)
        AND NOT (EXISTS (SELECT FROM pg_proc c WHERE c.proname = p.proname
                AND c.pronamespace = 'pg_catalog'::regnamespace)
            AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
                AND d.objid = p.oid AND d.deptype = 'e'))"
    )
}

// === impl Coverage ===

impl Coverage {
    /// Looks up the columns that rules mask.
    pub(super) async fn load(
        client: &mut Client,
        rules: &[MaskRule],
        functions: &[String],
    ) -> Result<Self, DriverError> {
        let version = ask(client, "SELECT current_setting('server_version_num')", []).await?;
        let known = ask(client, KNOWN, []).await?;
        let refused = format!(
            "SELECT DISTINCT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE {}",
            is_refused_function()
        );
        let allowed = Value::Texts(functions.to_vec());
        let refused = ask(client, &refused, [allowed.clone()]).await?;
        let mut coverage = Self {
            columns: HashMap::new(),
            relations: HashMap::new(),
            indexes: HashMap::new(),
            sources: Vec::new(),
            functions: HashSet::new(),
            known: known
                .iter()
                .map(|row| number(row, 0))
                .collect::<Result<_, _>>()?,
            version: version.first().map_or(Ok(0), |row| number(row, 0))? / 10_000,
            warnings: Vec::new(),
        };
        for row in &refused {
            let name: String = row.get(0)?;
            coverage.functions.insert(name.to_lowercase());
            coverage.functions.insert(name);
        }
        coverage.add_members(client, rules).await?;
        coverage.add_generated(client).await?;
        views::add(&mut coverage, client, rules, allowed).await?;
        coverage.add_indexes(client).await?;
        Ok(coverage)
    }

    /// Adds the columns of the rules, and the columns of parents, children and partitions.
    async fn add_members(
        &mut self,
        client: &mut Client,
        rules: &[MaskRule],
    ) -> Result<(), DriverError> {
        let list = |text: fn(&MaskRule) -> &String| {
            Value::Texts(rules.iter().map(|rule| text(rule).clone()).collect())
        };
        let columns = [
            list(|it| &it.schema),
            list(|it| &it.table),
            list(|it| &it.column),
        ];
        let mut found = BTreeSet::new();
        for row in ask(client, MEMBERS, columns).await? {
            let place: usize = number(&row, 0)?;
            let rule = place.checked_sub(1).ok_or(ODD)?;
            let written = rules.get(rule).ok_or(ODD)?;
            found.insert(rule);
            let relation = Relation::read(&row, 2)?;
            let is_view = relation.kind == Kind::View;
            let source = (!is_view).then(|| {
                self.source(Source {
                    table: format!("{}.{}", written.schema, written.table),
                    column: written.column.clone(),
                })
            });
            let oid = number(&row, 1)?;
            let known = self.relations.entry(oid).or_insert(relation);
            known.is_opaque |= is_view && !written.mask.is_partial();
            let is_derived = false;
            let hit = Hit {
                rule,
                source,
                is_derived,
            };
            self.add((oid, number(&row, 5)?), row.text(6)?, hit);
            if is_view {
                self.warn(
                    written,
                    "is a column of a view: mask the columns of its tables too",
                );
            }
        }
        for (place, rule) in rules.iter().enumerate() {
            if !found.contains(&place) {
                self.warn(rule, "does not exist");
            }
        }
        Ok(())
    }

    async fn add_generated(&mut self, client: &mut Client) -> Result<(), DriverError> {
        for row in ask(client, GENERATED, [self.oids()]).await? {
            let table: u32 = number(&row, 0)?;
            let Some(column) = self.columns.get(&(table, number(&row, 1)?)).cloned() else {
                continue;
            };
            let source = self.source_of(table, row.text(3)?);
            for hit in column.hits.into_iter().filter(|hit| !hit.is_derived) {
                let derived = Hit {
                    source,
                    is_derived: true,
                    ..hit
                };
                self.add((table, number(&row, 2)?), row.text(3)?, derived);
            }
        }
        Ok(())
    }

    async fn add_indexes(&mut self, client: &mut Client) -> Result<(), DriverError> {
        for row in ask(client, INDEXES, [self.oids()]).await? {
            let column = (number(&row, 0)?, number(&row, 1)?);
            self.indexes.entry(column).or_default().push(row.get(2)?);
        }
        Ok(())
    }

    /// Adds a warning for each masked column that a policy uses.
    pub(super) async fn warn_of_policies(
        &mut self,
        client: &mut Client,
    ) -> Result<(), DriverError> {
        for row in ask(client, POLICIES, [self.oids()]).await? {
            let (table, number) = (number(&row, 0)?, number(&row, 1)?);
            let relation = self.relations.get(&table);
            if let (Some(column), Some(it)) = (self.columns.get(&(table, number)), relation) {
                let (schema, name, column) = (&it.schema, &it.name, &column.name);
                self.warnings.push(format!(
                    "{schema}.{name}.{column} is used by policy {}, so with enforce: plan all \
                     queries on the table are refused",
                    row.text(2)?
                ));
            }
        }
        Ok(())
    }

    fn warn(&mut self, rule: &MaskRule, why: &str) {
        let (schema, table, column) = (&rule.schema, &rule.table, &rule.column);
        let warning = format!("{schema}.{table}.{column} {why}");
        self.warnings.push(warning);
    }

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Adds a rule for a column.
    pub(super) fn add(&mut self, column: (u32, u16), name: &str, hit: Hit) {
        let column = self.columns.entry(column).or_default();
        name.clone_into(&mut column.name);
        if !column.hits.contains(&hit) {
            column.hits.push(hit);
            // The first rule of the file that is for a caller decides.
            column.hits.sort_by_key(|hit| (hit.is_derived, hit.rule));
        }
    }

    /// Returns the place of a column in messages.
    fn source(&mut self, source: Source) -> usize {
        let known = self.sources.iter().position(|known| *known == source);
        known.unwrap_or_else(|| {
            self.sources.push(source);
            self.sources.len() - 1
        })
    }

    /// Returns the place of a column of a relation in messages.
    pub(super) fn source_of(&mut self, relation: u32, column: &str) -> Option<usize> {
        let Relation { schema, name, .. } = self.relations.get(&relation)?;
        let table = format!("{schema}.{name}");
        let column = column.to_owned();
        Some(self.source(Source { table, column }))
    }

    /// Returns the relations that are known to have masked columns.
    pub(super) fn oids(&self) -> Value {
        Value::Texts(self.relations.keys().map(ToString::to_string).collect())
    }

    /// Returns whether the relation existed at the load.
    pub(super) fn knows(&self, relation: u32) -> bool {
        self.known.contains(&relation)
    }
}

// === impl Relation ===

impl Relation {
    /// Reads its schema, name and kind from columns of a row.
    pub(super) fn read(row: &Row, first: usize) -> Result<Self, DriverError> {
        Ok(Self {
            schema: row.get(first)?,
            name: row.get(first + 1)?,
            kind: match row.text(first + 2)? {
                "v" => Kind::View,
                "m" => Kind::Kept,
                _ => Kind::Table,
            },
            calls: false,
            is_opaque: false,
        })
    }
}

const ODD: DriverError = DriverError::Protocol("an unexpected row of the catalogue");

/// Asks the catalogue.
pub(super) async fn ask<const N: usize>(
    client: &mut Client,
    sql: &str,
    values: [Value; N],
) -> Result<Vec<Row>, DriverError> {
    let bound = values.into_iter().fold(query(sql), Query::bind);
    bound.in_catalog().fetch_all(client).await
}

/// Reads a number.
pub(super) fn number<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T, DriverError> {
    T::try_from(row.get::<i64>(column)?).map_err(|_| ODD)
}
