//! The tables that a statement has touched, by its locks and counters.

use std::ops::RangeInclusive;

use ziggurat_postgres::{driver::Row, error::DriverError};

use crate::{
    Reason,
    capture::{
        connections::{Capture, Stop},
        opening::{
            COUNTERS, Counters, FACTS, FORMATS, LastValues, MISSING, Opening, SEQUENCES, counted,
            last_values,
        },
    },
    change::Sequence,
};

/// Facts from after the statement.
#[derive(Debug)]
pub(super) struct Touched {
    relations: Vec<Relation>,
    counters: Counters,
    /// Names of relations of the catalogue that rows of have changed, with those numbers.
    catalogue: Vec<(String, [u64; 3])>,
    sequences: LastValues,
    /// The end of the second in which it ended, in UTC and in the zone of the session.
    ended: [String; 2],
}

/// Relation with a lock that is not one of a reader.
#[derive(Debug)]
pub(super) struct Relation {
    pub(super) oid: u32,
    pub(super) name: String,
    kind: String,
    is_exclusive: bool,
}

/// Lists the relations with such a lock.
const LOCKED: &str = "SELECT c.oid, n.nspname || '.' || c.relname, c.relkind, \
    bool_or(l.mode = 'AccessExclusiveLock') \
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
    JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' \
    AND l.mode NOT IN ('AccessShareLock', 'RowShareLock') \
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND c.relkind IN ('r', 'f', 'S') AND n.nspname !~ '^pg_(catalog|toast|temp)' \
    GROUP BY 1, 2, 3";

/// Lists the relations of the catalogue, to name the ones with moved counters.
const CATALOGUE: &str = "SELECT c.oid, c.relname FROM pg_class c \
    WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind = 'r'";

impl Capture<'_> {
    /// Lets deferred triggers run, and asks what the statement has touched. Cursors are closed: COMMIT
    /// would run the rest of one with `WITH HOLD`.
    pub(super) async fn touched(&mut self, opening: &Opening) -> Result<Touched, Stop> {
        let sql = format!(
            "SET CONSTRAINTS ALL IMMEDIATE; CLOSE ALL; SELECT pg_catalog.date_trunc('second', \
             pg_catalog.clock_timestamp()::timestamp) + '1 s', \
             pg_catalog.pg_current_xact_id_if_assigned(), \
             pg_catalog.current_setting('track_counts'); {FORMATS}; {LOCKED}; {COUNTERS}; \
             {CATALOGUE}; {SEQUENCES}; SELECT date_trunc('second', clock_timestamp()) + '1 s'"
        );
        let sets = self
            .writer
            .begin()
            .ask_all(&sql, &mut FACTS.clone())
            .await?;
        let [local, locked, counters, catalogue, sequences, ended] = &*sets else {
            return Err(MISSING.into());
        };
        let (Some(local), Some(ended)) = (local.first(), ended.first()) else {
            return Err(MISSING.into());
        };
        if local.get::<Option<String>>(1)? != Some(opening.transaction.to_string()) {
            return Err(Stop::Unseen(Reason::Transaction));
        }
        if local.text(2)? != "on" {
            return Err(Stop::Unseen(Reason::Uncounted));
        }
        let relations: Result<_, DriverError> = locked.iter().map(Relation::read).collect();
        let counters = counted(counters)?;
        let mut touched = Touched {
            relations: relations?,
            counters,
            catalogue: Vec::new(),
            sequences: last_values(sequences)?,
            ended: [ended.get(0)?, local.get(0)?],
        };
        for row in catalogue {
            let moved = touched.moved(&opening.counters, row.get(0)?);
            if moved != [0; 3] {
                touched.catalogue.push((row.get(1)?, moved));
            }
        }
        touched.catalogue.sort();
        Ok(touched)
    }
}

// === impl Touched ===

impl Touched {
    /// Returns the reason for which it has no preview.
    pub(super) fn reason(&self) -> Option<Reason> {
        let whole = self
            .relations
            .iter()
            .find(|it| it.is_exclusive && it.kind == "r");
        let large = self
            .catalogue
            .iter()
            .find(|(name, _)| name.starts_with("pg_largeobject"));
        // To empty a table gives it another file, which is a change of its row in `pg_class`.
        let is_emptied = |(name, [added, _, removed]): &&(String, [u64; 3])| {
            name == "pg_class" && *added == 0 && *removed == 0
        };
        let defined = self.catalogue.iter();
        let defined = defined.filter(|it| whole.is_none() || !is_emptied(it));
        // Most definitions have a row there.
        let defined = defined.min_by_key(|(name, _)| name != "pg_class");
        let foreign = self.relations.iter().find(|it| it.kind == "f");
        match (large, defined, whole, foreign) {
            (Some(_), ..) => Some(Reason::LargeObjects),
            (_, Some((name, _)), ..) => Some(Reason::Definitions(name.clone())),
            (_, _, Some(table), _) => Some(Reason::Whole(table.name.clone())),
            (.., Some(table)) => Some(Reason::Unusual(table.name.clone())),
            _ => None,
        }
    }

    /// Returns the OIDs of the tables that may have changed.
    pub(super) fn tables(&self) -> impl Iterator<Item = u32> {
        let tables = self.relations.iter().filter(|it| it.kind == "r");
        tables.map(|it| it.oid)
    }

    /// Returns how many rows of a relation the transaction has added, changed and removed.
    pub(super) fn moved(&self, before: &Counters, oid: u32) -> [u64; 3] {
        let none = [0; 3];
        let (before, after) = (before.get(&oid), self.counters.get(&oid));
        let (before, after) = (before.unwrap_or(&none), after.unwrap_or(&none));
        [0, 1, 2].map(|at| after[at].saturating_sub(before[at]))
    }

    /// Returns the sequences that it drew numbers from.
    pub(super) fn drawn(&self, opening: &Opening) -> Vec<Sequence> {
        let locked = self.relations.iter().filter(|it| it.kind == "S");
        let drawn = locked.filter_map(|it| {
            let before = *opening.sequences.as_ref()?.get(&it.oid)?;
            let after = *self.sequences.as_ref()?.get(&it.oid)?;
            Some(Sequence {
                oid: it.oid,
                name: it.name.clone(),
                before,
                after,
            })
        });
        let mut drawn: Vec<_> = drawn.filter(|it| it.before != it.after).collect();
        drawn.sort_by(|one, other| one.name.cmp(&other.name));
        drawn
    }

    /// Returns whether there are few enough sequences to look at all of them.
    pub(super) fn knows_sequences(&self, opening: &Opening) -> bool {
        self.sequences.is_some() && opening.sequences.is_some()
    }

    /// Returns the time of the run, with and without the zone of the session.
    pub(super) fn times(&self, opening: &Opening) -> Vec<RangeInclusive<String>> {
        let began = opening.began.iter().cloned();
        let times = began.zip(self.ended.iter().cloned());
        times.map(|(began, ended)| began..=ended).collect()
    }
}

// === impl Relation ===

impl Relation {
    fn read(row: &Row) -> Result<Self, DriverError> {
        Ok(Self {
            oid: row.get(0)?,
            name: row.get(1)?,
            kind: row.get(2)?,
            is_exclusive: row.get(3)?,
        })
    }
}
