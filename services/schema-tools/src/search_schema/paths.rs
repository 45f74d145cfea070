//! Ways to join two tables: paths of foreign keys.

use std::collections::{HashMap, VecDeque, hash_map::Entry};

use ziggurat_postgres::metadata::{ForeignKey, Table};

use crate::search_schema::name;

/// Longest path, in foreign keys.
const MAX_STEPS: usize = 4;

/// Limit on the paths of an answer.
const MAX_PATHS: usize = 5;

/// Limit on the steps that are tried; tables with very many references would take too long.
const MAX_TRIES: usize = 100_000;

/// A table, by its schema and name.
type Key<'a> = (&'a str, &'a str);

struct PathSearch<'a> {
    /// Distance of tables to the target, if it is near enough.
    distances: HashMap<Key<'a>, usize>,
    target: Key<'a>,
    path: Vec<(ForeignKey<'a>, Table<'a>)>,
    paths: Vec<String>,
    tries: usize,
}

/// Returns up to five paths between two tables, the shortest first. A path is a line: its foreign
/// keys, each from the table that has it.
pub(super) fn between(from: Table<'_>, to: Table<'_>) -> Vec<String> {
    let mut search = PathSearch {
        distances: distances(to),
        target: key(to),
        path: Vec::new(),
        paths: Vec::new(),
        tries: 0,
    };
    for steps in 1..=MAX_STEPS {
        search.follow(from, from, steps);
    }
    search.paths
}

// === impl PathSearch ===

impl<'a> PathSearch<'a> {
    /// Adds the paths of exactly this many further steps.
    fn follow(&mut self, from: Table<'a>, table: Table<'a>, steps: usize) {
        for (foreign_key, next) in neighbours(table) {
            self.tries += 1;
            if self.paths.len() == MAX_PATHS || self.tries > MAX_TRIES {
                return;
            }
            let is_target = key(next) == self.target;
            if is_target && steps == 1 {
                self.path.push((foreign_key, next));
                self.paths.push(line(&self.path));
                self.path.pop();
                continue;
            }
            let is_known =
                key(next) == key(from) || self.path.iter().any(|(_, seen)| key(*seen) == key(next));
            let distance = self.distances.get(&key(next));
            if !is_target && !is_known && distance.is_some_and(|&distance| distance < steps) {
                self.path.push((foreign_key, next));
                self.follow(from, next, steps - 1);
                self.path.pop();
            }
        }
    }
}

fn key(table: Table<'_>) -> Key<'_> {
    (table.schema(), table.name())
}

/// Returns the foreign keys of a table and those that refer to it, each with the table at its other
/// end.
fn neighbours(table: Table<'_>) -> impl Iterator<Item = (ForeignKey<'_>, Table<'_>)> {
    let own = table
        .foreign_keys()
        .map(|foreign_key| (foreign_key, foreign_key.target()));
    let others = table
        .referenced_by()
        .map(|foreign_key| (foreign_key, foreign_key.table()));
    let all = own.chain(others);
    all.filter(|(_, next)| next.is_readable())
}

/// Returns the number of steps to a table from those that are near it.
fn distances(to: Table<'_>) -> HashMap<Key<'_>, usize> {
    let mut distances = HashMap::from([(key(to), 0)]);
    let mut queue = VecDeque::from([(to, 0)]);
    while let Some((table, distance)) = queue.pop_front() {
        if distance + 1 == MAX_STEPS {
            continue;
        }
        for (_, next) in neighbours(table) {
            if let Entry::Vacant(place) = distances.entry(key(next)) {
                place.insert(distance + 1);
                queue.push_back((next, distance + 1));
            }
        }
    }
    distances
}

fn line(path: &[(ForeignKey<'_>, Table<'_>)]) -> String {
    let steps: Vec<_> = path
        .iter()
        .map(|(foreign_key, _)| step(*foreign_key))
        .collect();
    steps.join(", then ")
}

fn step(foreign_key: ForeignKey<'_>) -> String {
    let (table, target) = (foreign_key.table(), foreign_key.target());
    let side = |table: Table<'_>, columns: Vec<&str>| {
        let columns = columns
            .into_iter()
            .map(|column| name::path([table.schema(), table.name(), column]));
        let columns: Vec<_> = columns.collect();
        match &*columns {
            [column] => column.clone(),
            _ => format!("({})", columns.join(", ")),
        }
    };
    let columns = side(table, foreign_key.columns().collect());
    let targets = side(target, foreign_key.target_columns().collect());
    format!("{columns} -> {targets}")
}
