//! Makes candidates of the columns that scans use.

use serde_json::Value;

use crate::index_advice::{
    Advice, Candidate, Fallen, Key, MIN_ROWS, Order, Reason, Table,
    condition::ColumnName,
    partitions::with_tables,
    plan::{self, Scan},
    table::{Column, Index},
};

/// Limit on the columns of a candidate.
const MAX_KEYS: usize = 3;

/// Limit on candidates; each is tried several times.
const MAX_CANDIDATES: usize = 40;

/// Returns candidates for a statement with this plan, none of them for a table with row security.
pub(super) fn candidates(plan: &Value, tables: &[Table]) -> Advice {
    let mut advice = Advice::default();
    let mut scans = with_tables(plan::scans(plan), tables);
    scans.retain(|(_, table)| table.as_ref().is_none_or(|table| !table.is_secured));
    let leading = leading(&scans);
    for (at, (scan, table)) in scans.iter().enumerate() {
        let Some(table) = table.as_ref().filter(|table| table.rows >= MIN_ROWS) else {
            continue;
        };
        let lists = key_lists(scan, table, leading == Some(at));
        for (place, keys) in lists.into_iter().enumerate() {
            add(&mut advice, scan, table, keys, place == 0);
        }
    }
    advice.chosen.sort_by(|a, b| {
        let by_cost = b.cost.total_cmp(&a.cost);
        // Of those for the same scan the longer ones, which answer more of its conditions.
        by_cost.then_with(|| b.keys.len().cmp(&a.keys.len()))
    });
    if advice.chosen.len() > MAX_CANDIDATES {
        let rest = advice.chosen.split_off(MAX_CANDIDATES);
        advice
            .fallen
            .extend(rest.into_iter().map(|candidate| Fallen {
                candidate,
                reason: Reason::TooMany,
            }));
    }
    advice
}

/// Returns the scan that a plan with indexes would begin with: of those with conditions of their
/// own the one with the fewest rows. The others are joined to it.
fn leading(scans: &[(Scan, Option<Table>)]) -> Option<usize> {
    let scans = scans.iter().map(|(scan, _)| scan).enumerate();
    let filtered = scans.filter(|(_, scan)| scan.is_filtered());
    let first = filtered.min_by(|(_, a), (_, b)| a.rows.total_cmp(&b.rows));
    first.map(|(at, _)| at)
}

/// Columns of a candidate; the first `equal` of them can stand in any order.
struct CandidateKeys {
    keys: Vec<Key>,
    equal: usize,
}

/// Lists of columns for one scan.
struct KeyLists {
    lists: Vec<CandidateKeys>,
    /// Rows of the table.
    rows: f64,
}

/// Adds a candidate for a scan, or the scan to a candidate that is known.
fn add(advice: &mut Advice, scan: &Scan, table: &Table, keys: CandidateKeys, is_first: bool) {
    let reason = table
        .indexes
        .iter()
        .find(|index| keys.begins(index))
        .map(|index| Reason::Exists(index.name.clone()));
    let same = |candidate: &&mut Candidate| {
        candidate.schema == table.schema
            && candidate.table == table.name
            && candidate.keys == keys.keys
    };
    let known = match reason {
        None => advice.chosen.iter_mut().find(same),
        Some(_) => advice
            .fallen
            .iter_mut()
            .map(|fallen| &mut fallen.candidate)
            .find(same),
    };
    if let Some(known) = known {
        if !known.helps.contains(&scan.label) {
            known.helps.push(scan.label.clone());
        }
        for partition in &table.partitions {
            if !known.partitions.contains(partition) {
                known.partitions.push(partition.clone());
            }
        }
        known.cost += scan.cost;
        known.is_first |= is_first;
        return;
    }
    let candidate = Candidate {
        schema: table.schema.clone(),
        table: table.name.clone(),
        partitions: table.partitions.clone(),
        bytes: bytes(table, &keys.keys),
        keys: keys.keys,
        helps: vec![scan.label.clone()],
        cost: scan.cost,
        is_first,
    };
    match reason {
        None => advice.chosen.push(candidate),
        Some(reason) => advice.fallen.push(Fallen { candidate, reason }),
    }
}

/// Returns the lists of columns that may help a scan, without those that occur twice. The first is
/// the best guess.
fn key_lists(scan: &Scan, table: &Table, is_leading: bool) -> Vec<CandidateKeys> {
    let equal = columns(table, &scan.equal);
    let joined = columns(table, &scan.joined);
    let ranges = columns(table, &scan.ranges);
    let sorted = sort_keys(table, &scan.sorted);

    let mut lists = KeyLists {
        lists: Vec::new(),
        rows: table.rows,
    };
    let guess = if is_leading {
        equal.clone()
    } else {
        with(&equal, &joined)
    };
    let order = if ranges.is_empty() { &*sorted } else { &[] };
    lists.push(&guess, ranges.first(), order);
    // The join as it is, and each joined column by itself: an index for a nested loop.
    let mut groups = vec![equal.clone()];
    for column in &joined {
        groups.push(vec![*column]);
        groups.push(with(&equal, &[*column]));
    }
    if joined.len() > 1 {
        groups.push(with(&equal, &joined));
    }
    for column in &equal {
        groups.push(vec![*column]);
    }
    for group in &groups {
        lists.push(group, None, &[]);
        for range in &ranges {
            lists.push(group, Some(range), &[]);
            lists.push(group, Some(range), &sorted);
        }
        lists.push(group, None, &sorted);
    }
    for range in &ranges {
        lists.push(&[], Some(range), &[]);
    }
    lists.push(&[], None, &sorted);
    lists.lists
}

fn with<'a>(equal: &[&'a Column], more: &[&'a Column]) -> Vec<&'a Column> {
    let mut all = more.to_vec();
    for &column in equal {
        if all.iter().all(|known| known.name != column.name) && all.len() < MAX_KEYS {
            all.push(column);
        }
    }
    all
}

/// Returns the columns of the table that an index can answer.
fn columns<'a>(table: &'a Table, names: &[ColumnName]) -> Vec<&'a Column> {
    let mut found: Vec<&Column> = Vec::new();
    for name in names {
        if let Some(column) = column(table, name)
            && found.iter().all(|known| known.name != column.name)
        {
            found.push(column);
        }
    }
    found
}

/// Finds a column, unless it is cast to a type that is stored in another form.
fn column<'a>(table: &'a Table, name: &ColumnName) -> Option<&'a Column> {
    let column = table
        .columns
        .iter()
        .find(|column| column.name == name.name)?;
    let is_same = match name.cast.as_deref() {
        None => true,
        Some("text") => matches!(column.type_name.as_str(), "character varying" | "text"),
        Some(cast) => cast == column.type_name,
    };
    is_same.then_some(column)
}

/// Returns sort keys as keys of an index, which can also be read backwards.
fn sort_keys(table: &Table, sorted: &[(ColumnName, Order)]) -> Vec<Key> {
    let is_backward = sorted
        .first()
        .is_some_and(|(_, order)| order.is_descending && !order.has_unusual_nulls);
    sorted
        .iter()
        .map_while(|(name, order)| {
            let column = column(table, name)?;
            Some(Key {
                column: column.name.clone(),
                order: if is_backward {
                    order.reversed()
                } else {
                    *order
                },
            })
        })
        .collect()
}

/// Estimates the size of an index: entries of its columns, in pages that are nine tenths full.
fn bytes(table: &Table, keys: &[Key]) -> f64 {
    let width: f64 = table
        .columns
        .iter()
        .filter(|column| keys.iter().any(|key| key.column == column.name))
        .map(|column| column.width)
        .sum();
    // With the header of an entry, and half of the bytes that align it.
    table.rows_of_index() * (16.0 + width) / 0.9
}

// === impl KeyLists ===

impl KeyLists {
    /// Adds equality, then range, then order, cut to the limit.
    fn push(&mut self, equal: &[&Column], range: Option<&&Column>, sorted: &[Key]) {
        let mut equal = equal.to_vec();
        // The one that leaves the fewest rows first.
        equal.sort_by(|a, b| {
            let by_distinct = b.distinct.total_cmp(&a.distinct);
            by_distinct.then_with(|| a.name.cmp(&b.name))
        });
        let is_single = self.cut(&mut equal);
        let plain = |column: &&Column| Key {
            column: column.name.clone(),
            order: Order::default(),
        };
        let mut keys: Vec<Key> = equal.iter().map(plain).collect();
        let rest = range.map(plain).into_iter().chain(sorted.iter().cloned());
        for key in rest.take_while(|_| !is_single) {
            // A sort by a column that has one value, or is sorted already, needs no key.
            if keys.len() < MAX_KEYS && keys.iter().all(|known| known.column != key.column) {
                keys.push(key);
            }
        }
        let is_new = self.lists.iter().all(|list| list.keys != keys);
        if !keys.is_empty() && is_new {
            let equal = equal.len();
            self.lists.push(CandidateKeys { keys, equal });
        }
    }

    /// Leaves out columns behind those that find a single row, and returns whether they do.
    fn cut(&self, equal: &mut Vec<&Column>) -> bool {
        let mut values = 1.0;
        let needed = equal.iter().take_while(|column| {
            let is_needed = values < self.rows;
            values *= column.distinct.max(1.0);
            is_needed
        });
        let count = needed.count().min(MAX_KEYS);
        equal.truncate(count);
        values >= self.rows
    }
}

// === impl CandidateKeys ===

impl CandidateKeys {
    /// Returns whether an index begins with these columns.
    fn begins(&self, index: &Index) -> bool {
        let names: Vec<&String> = self.keys.iter().map(|key| &key.column).collect();
        let Some(start) = index.columns.get(..names.len()) else {
            return false;
        };
        let (equal, rest) = names.split_at(self.equal);
        let (equal_start, rest_start) = start.split_at(self.equal);
        let are_plain = self.keys.iter().all(|key| key.order == Order::default());
        are_plain
            && equal.iter().all(|name| equal_start.contains(name))
            && rest
                .iter()
                .zip(rest_start)
                .all(|(name, start)| *name == start)
    }
}
