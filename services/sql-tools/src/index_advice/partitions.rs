//! Takes the scans of the partitions of a table together: an index on the table serves all of them.

use crate::index_advice::{
    plan::Scan,
    table::{Column, Index, Table},
};

/// Share of the rows above which the number of different values grows with them, as PostgreSQL
/// assumes for its statistics.
const GROWING: f64 = 0.1;

/// Finds the table of each scan. Scans of the partitions of a table become one. Its table has the
/// rows of these partitions, and the indexes that all of them have.
pub(super) fn with_tables(scans: Vec<Scan>, tables: &[Table]) -> Vec<(Scan, Option<Table>)> {
    let mut found: Vec<(Scan, Vec<&Table>)> = Vec::new();
    for mut scan in scans {
        let is_its = |table: &&Table| table.schema == scan.schema && table.name == scan.table;
        let table = tables.iter().find(is_its);
        if let Some(partition) = table
            && let Some(root) = &partition.root
        {
            scan.take_for(&root.schema, &root.name);
            let mut others = found.iter_mut();
            if let Some((whole, partitions)) = others.find(|(it, _)| it.is_of_one_table(&scan)) {
                whole.merge(scan);
                partitions.push(partition);
                continue;
            }
        }
        found.push((scan, table.into_iter().collect()));
    }
    let whole = |(scan, tables): (Scan, Vec<&Table>)| (scan, whole(&tables));
    found.into_iter().map(whole).collect()
}

/// Describes a table by its partitions; a table that is not a partition stays as it is.
fn whole(partitions: &[&Table]) -> Option<Table> {
    let (first, rest) = partitions.split_first()?;
    let Some(root) = &first.root else {
        return Some((*first).clone());
    };
    let columns = first.columns.iter();
    let indexes = first.indexes.iter();
    let name = |it: &&Table| (it.schema.clone(), it.name.clone());
    Some(Table {
        schema: root.schema.clone(),
        name: root.name.clone(),
        rows: partitions.iter().map(|it| it.rows).sum(),
        columns: columns.map(|it| column(it, partitions)).collect(),
        indexes: indexes.filter_map(|it| common(it, rest)).collect(),
        root: Some(root.clone()),
        partitions: partitions.iter().map(name).collect(),
        is_secured: partitions.iter().any(|it| it.is_secured),
    })
}

/// Describes a column of partitions, one of which has it as `column`.
fn column(column: &Column, partitions: &[&Table]) -> Column {
    let mut whole = Column {
        distinct: 0.0,
        ..column.clone()
    };
    for partition in partitions {
        let mut columns = partition.columns.iter();
        if let Some(part) = columns.find(|it| it.name == column.name) {
            whole.width = whole.width.max(part.width);
            whole.distinct = if part.distinct > GROWING * partition.rows {
                whole.distinct + part.distinct
            } else {
                whole.distinct.max(part.distinct)
            };
        }
    }
    whole
}

/// Returns the leading columns of an index that indexes of all other partitions begin with, too.
fn common(index: &Index, others: &[&Table]) -> Option<Index> {
    let same = |other: &Index| {
        let pairs = index.columns.iter().zip(&other.columns);
        pairs.take_while(|(one, two)| one == two).count()
    };
    let length = others.iter().map(|table| {
        let lengths = table.indexes.iter().map(same);
        lengths.max().unwrap_or_default()
    });
    let length = length.fold(index.columns.len(), usize::min);
    (length > 0).then(|| Index {
        name: index.name.clone(),
        columns: index.columns[..length].to_vec(),
    })
}
