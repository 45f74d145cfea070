//! Details from the rows of the query.

use ziggurat_postgres::{
    driver::{DriverError, Row},
    metadata::{number, text},
};

use crate::table_details::{
    ColumnValues, Constraint, Partitions, Policy, RowSecurity, TableDetails,
    expression::{compact, cut},
    query::{CHECK, INDEX, MAX_BYTES, POLICY, TABLE, TRIGGER, UNIQUE, UNREADABLE, VALUES},
};

const PRIVILEGES: [&str; 4] = ["SELECT", "INSERT", "UPDATE", "DELETE"];

/// Returns the details of the tables that were found, in their order.
pub(super) fn details(
    tables: &[(&str, &str)],
    rows: &[Row],
) -> Result<Vec<TableDetails>, DriverError> {
    let mut found = Vec::new();
    for row in rows {
        if text(row, 1)? == TABLE {
            let place: usize = number(row, 0)?;
            let Some((schema, name)) = tables.get(place) else {
                continue;
            };
            found.push(TableDetails {
                schema: (*schema).to_owned(),
                name: (*name).to_owned(),
                ..TableDetails::default()
            });
        }
        // The row of a table is the first of its rows.
        if let Some(details) = found.last_mut() {
            add(details, row)?;
        }
    }
    Ok(found)
}

fn add(details: &mut TableDetails, row: &Row) -> Result<(), DriverError> {
    let kind = text(row, 1)?;
    details.is_cut |= kind != TABLE && number::<u64>(row, 9)? > MAX_BYTES.into();
    if details.is_cut {
        return Ok(());
    }
    let name = text(row, 2)?.into_owned();
    match &*kind {
        TABLE => return table(details, row),
        UNREADABLE => details.unreadable_columns.push(name),
        UNIQUE => details.uniques.push(list(&name)?),
        CHECK => details.checks.push(Constraint {
            name,
            definition: compact(&text(row, 3)?),
            column: some(&text(row, 4)?),
        }),
        POLICY => details.policies.push(Policy {
            name,
            command: text(row, 3)?.into_owned(),
            roles: list(&text(row, 4)?)?,
            using: expression(row, 5)?,
            with_check: expression(row, 6)?,
            is_permissive: text(row, 7)? == "true",
        }),
        INDEX => {
            let definition = compact(&text(row, 3)?);
            details.indexes.push(format!("{name} {definition}"));
        }
        TRIGGER => details.triggers.push(name),
        VALUES => {
            let frequencies = list(&text(row, 4)?)?;
            let frequencies = frequencies.iter().map(|text| text.parse().unwrap_or(0.0));
            details.values.push(ColumnValues {
                column: name,
                values: list(&text(row, 3)?)?.into_iter().zip(frequencies).collect(),
            });
        }
        _ => {}
    }
    Ok(())
}

fn table(details: &mut TableDetails, row: &Row) -> Result<(), DriverError> {
    details.row_security = match &*text(row, 2)? {
        "on" => RowSecurity::On,
        "forced" => RowSecurity::Forced,
        _ => RowSecurity::Off,
    };
    details.view_definition = some(cut(&text(row, 3)?).trim());
    details.partitions = match expression(row, 4)? {
        Some(key) => Some(Partitions {
            count: number(row, 5)?,
            key,
        }),
        None => None,
    };
    let bounds = text(row, 7)?;
    let bounds = bounds.strip_prefix("FOR VALUES ").unwrap_or(&bounds);
    details.partition_of = some(&text(row, 6)?).map(|parent| (parent, compact(bounds)));
    let privileges = text(row, 8)?;
    let has = |privilege: &&str| privileges.split(',').any(|name| name == *privilege);
    details.privileges = PRIVILEGES.into_iter().filter(has).collect();
    Ok(())
}

fn expression(row: &Row, index: usize) -> Result<Option<String>, DriverError> {
    Ok(some(&compact(&text(row, index)?)))
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn list(json: &str) -> Result<Vec<String>, DriverError> {
    serde_json::from_str(json).map_err(DriverError::value)
}
