//! The masked columns of a caller, and the masks of a result.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use ziggurat_masking::{
    Mask,
    plan::{self, Guard, MaskedColumn},
};
use ziggurat_sql::{Lexer, Token};

use crate::{
    database::masking::{
        Coverage, MaskRule,
        load::{Hit, Kind},
    },
    driver::{Field, Row},
};

/// Text of a mask that no rule gives.
const HIDDEN: &str = "***";

/// The columns that are masked for a caller.
pub(crate) struct CallerColumns {
    coverage: Arc<Coverage>,
    columns: HashMap<(u32, u16), Held>,
    /// Masked columns that a plan may name.
    planned: Vec<MaskedColumn>,
    /// Indexes with masked columns, and the places of their sources.
    indexes: HashMap<String, usize>,
    /// Names of tables with masked columns in small letters, and as messages have them.
    pub(super) tables: HashMap<String, String>,
    /// Names among them of views with masked columns that no plan shows.
    pub(super) opaque: HashSet<String>,
}

/// A mask that holds for a caller.
struct Held {
    mask: Mask,
    source: Option<usize>,
}

/// Masks of the columns of a result, by place.
#[derive(Debug)]
pub(crate) struct ResultMasks {
    masks: Vec<Option<Mask>>,
}

// === impl CallerColumns ===

impl fmt::Debug for CallerColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerColumns")
            .field("tables", &self.tables)
            .finish_non_exhaustive()
    }
}

impl CallerColumns {
    pub(super) fn new(coverage: &Arc<Coverage>, rules: &[MaskRule], holds: &[bool]) -> Self {
        let mut made = Self {
            coverage: Arc::clone(coverage),
            columns: HashMap::new(),
            planned: Vec::new(),
            indexes: HashMap::new(),
            tables: HashMap::new(),
            opaque: HashSet::new(),
        };
        for (&column, found) in &coverage.columns {
            if let Some(held) = Held::of(&found.hits, rules, holds) {
                if !held.mask.is_partial() {
                    made.add_table(column.0, &found.name, held.source);
                    let names = coverage.indexes.get(&column).into_iter().flatten();
                    let sources = held.source.into_iter().cycle();
                    made.indexes.extend(names.cloned().zip(sources));
                }
                made.columns.insert(column, held);
            }
        }
        let mut holding = rules.iter().zip(holds).filter(|(_, holds)| **holds);
        if holding.any(|(rule, _)| !rule.mask.is_partial()) {
            for (oid, relation) in &coverage.relations {
                if relation.calls {
                    made.add_table(*oid, "", None);
                }
            }
        }
        made
    }

    /// Adds a relation with a masked column.
    fn add_table(&mut self, oid: u32, column: &str, source: Option<usize>) {
        let Some(relation) = self.coverage.relations.get(&oid) else {
            return;
        };
        let (schema, name) = (&relation.schema, &relation.name);
        let folded = name.to_lowercase();
        if relation.is_opaque {
            self.opaque.insert(folded.clone());
        }
        if let Some(source) = source.filter(|_| relation.kind != Kind::View) {
            self.planned.push(MaskedColumn {
                schema: schema.clone(),
                relation: name.clone(),
                column: column.to_owned(),
                source,
            });
        }
        self.tables.insert(folded, format!("{schema}.{name}"));
    }

    pub(super) fn is_of(&self, coverage: &Arc<Coverage>) -> bool {
        Arc::ptr_eq(&self.coverage, coverage)
    }

    /// Returns the names of functions that texts beside masked columns may not call, also in small
    /// letters.
    pub(super) fn functions(&self) -> &HashSet<String> {
        &self.coverage.functions
    }

    /// Returns whether a table existed when the columns were looked up.
    pub(crate) fn know_table(&self, table: u32) -> bool {
        self.coverage.knows(table)
    }

    /// Returns whether the tables of a result existed when the columns were looked up.
    pub(crate) fn know(&self, fields: &[Field]) -> bool {
        let origins = fields.iter().map(|field| field.origin.0);
        origins
            .filter(|oid| *oid != 0)
            .all(|oid| self.coverage.knows(oid))
    }

    /// Checks the plan of a query with these columns in its result.
    pub(crate) fn check_plan(
        &self,
        plan: &str,
        fields: &[Field],
        table: &str,
    ) -> Result<(), plan::Refusal> {
        let held = fields.iter().filter_map(|field| self.held(field));
        let held = held.filter(|held| !held.mask.is_partial());
        let results: Vec<_> = held.filter_map(|held| held.source).collect();
        let guard = Guard {
            columns: &self.planned,
            sources: &self.coverage.sources,
            functions: &self.coverage.functions,
            indexes: &self.indexes,
            results: &results,
            table,
            version: self.coverage.version,
        };
        plan::check(plan, &guard)
    }

    /// Returns whether a column is masked. One of a relation that was made since could be.
    pub(crate) fn has(&self, table: u32, column: u16) -> bool {
        self.mark(table, column) || !self.coverage.knows(table)
    }

    /// Returns the masked column of the relation that a message of PostgreSQL names, by its schema, table
    /// and name, and the relation: the first column that the text has, or the first at all.
    pub(crate) fn denied(&self, message: &str, text: &str) -> Option<(u32, [String; 3])> {
        let words = |text| Lexer::new(text).filter_map(|token: Token<'_>| token.identifier());
        let named: Vec<_> = words(message).collect();
        let used: Vec<_> = words(text).collect();
        let columns = self.columns.iter();
        let hidden = columns.filter(|(_, held)| !held.mask.is_partial());
        let found = hidden.filter_map(|(&(relation, number), _)| {
            let known = self.coverage.relations.get(&relation)?;
            let column = &self.coverage.columns.get(&(relation, number))?.name;
            let is_named = named.iter().any(|name| **name == *known.name);
            let is_unused = !used.iter().any(|name| **name == **column);
            is_named.then_some((is_unused, relation, number, known, column))
        });
        let (_, relation, _, known, column) = found
            .min_by_key(|(is_unused, relation, number, ..)| (*is_unused, *relation, *number))?;
        let path = [&known.schema, &known.name, column];
        Some((relation, path.map(String::clone)))
    }

    /// Returns whether a column is masked.
    pub(crate) fn mark(&self, table: u32, column: u16) -> bool {
        self.columns.contains_key(&(table, column))
    }

    /// Returns the names of the masked columns of a table, by its schema and name.
    pub(crate) fn names(&self, (schema, table): (&str, &str)) -> HashSet<&str> {
        let masked = self.columns.keys().filter(|(oid, _)| {
            let relation = self.coverage.relations.get(oid);
            relation.is_some_and(|it| it.schema == schema && it.name == table)
        });
        let columns = masked.filter_map(|column| self.coverage.columns.get(column));
        columns.map(|column| &*column.name).collect()
    }

    /// Returns the mask of a column. One of a relation that was made since is hidden whole.
    pub(crate) fn mask(&self, table: u32, column: u16) -> Option<Mask> {
        if !self.coverage.knows(table) {
            return Some(Mask::whole(HIDDEN));
        }
        let held = self.columns.get(&(table, column))?;
        Some(held.mask.clone())
    }

    fn held(&self, field: &Field) -> Option<&Held> {
        let (table, number) = field.origin;
        self.columns.get(&(table, u16::try_from(number).ok()?))
    }

    /// Returns the masks of a result, if it has some. `hides_computed` masks the columns that are not
    /// columns of a table.
    pub(crate) fn masks(&self, fields: &[Field], hides_computed: bool) -> Option<Arc<ResultMasks>> {
        let mask = |field: &Field| {
            let (table, number) = field.origin;
            if table == 0 || number <= 0 {
                return hides_computed.then(|| Mask::whole(HIDDEN));
            }
            if !self.coverage.knows(table) {
                // Made since, and could be anything.
                return Some(Mask::whole(HIDDEN));
            }
            self.held(field).map(|held| held.mask.clone())
        };
        let masks: Vec<_> = fields.iter().map(mask).collect();
        let has_some = masks.iter().any(Option::is_some);
        has_some.then(|| Arc::new(ResultMasks { masks }))
    }
}

// === impl Held ===

impl Held {
    /// Returns the mask of the first rule that is for the caller; a whole mask before one in part.
    fn of(hits: &[Hit], rules: &[MaskRule], holds: &[bool]) -> Option<Self> {
        let holding = |hit: &&Hit| holds.get(hit.rule).copied().unwrap_or(true);
        let is_whole = |hit: &&Hit| !rules[hit.rule].mask.is_partial();
        let mut found = hits.iter().filter(holding);
        let hit = found.clone().find(is_whole).or_else(|| found.next())?;
        let mask = &rules[hit.rule].mask;
        Some(Self {
            mask: if hit.is_derived {
                Mask::whole(HIDDEN)
            } else {
                mask.clone()
            },
            source: hit.source,
        })
    }
}

// === impl ResultMasks ===

impl ResultMasks {
    /// Adds masks of the columns of a name, which have statements.
    pub(crate) fn with_statements(
        masks: Option<&Arc<Self>>,
        fields: &[Field],
        column: &str,
    ) -> Arc<Self> {
        let known = |place| masks.and_then(|masks| masks.mask(place)).cloned();
        let mask = |(place, field): (usize, &Field)| {
            let is_named = field.name == column;
            known(place).or_else(|| is_named.then(Mask::statement))
        };
        let masks = fields.iter().enumerate().map(mask).collect();
        Arc::new(Self { masks })
    }

    /// Returns the mask of a column.
    pub(crate) fn mask(&self, place: usize) -> Option<&Mask> {
        self.masks.get(place)?.as_ref()
    }

    /// Masks a row.
    pub(crate) fn apply(&self, row: &Row) -> Row {
        let values = row.values().zip(&self.masks);
        let kept = values.filter(|(_, mask)| !mask.as_ref().is_some_and(Mask::drops));
        row.with_values(kept.map(|(value, mask)| match (value, mask) {
            (Some(value), Some(mask)) => mask.apply(value),
            (value, _) => value.map(Cow::Borrowed),
        }))
    }
}
