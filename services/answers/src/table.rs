//! Rows of structured results.

use ziggurat_mcp::{Property, Schema, Structure, Text};
use ziggurat_postgres::{scalar::Scalar, tsv};

/// Rows of a structured result, as many as fit.
///
/// They are written as JSON when they arrive, so that a row is held once and not also as a tree.
#[derive(Debug)]
pub struct Table {
    json: Text,
    /// The position of the first row.
    start: usize,
    rows: u64,
    max_bytes: usize,
    is_cut: bool,
}

// === impl Table ===

impl Table {
    /// Returns the schema of a table.
    pub fn schema() -> Schema {
        Schema::new()
            .with_required(
                "columns",
                Property::strings("The names of the columns, which may repeat."),
            )
            .with_required(
                "rows",
                Property::rows(
                    "The rows, with a value for each column. Numbers are JSON numbers if they lose \
                     no digits, timestamps follow RFC 3339 (without an offset if the type has no \
                     time zone), and other types are text as PostgreSQL prints it.",
                ),
            )
            .with_required(
                "row_count",
                Property::integer(
                    "The number of rows; for a statement that returns none, the number of changed \
                     rows.",
                )
                .with_minimum(0),
            )
            .with_required(
                "truncated",
                Property::boolean("True if there are more rows."),
            )
    }

    /// Makes the structure for a statement that returns no rows.
    pub fn changed(rows: u64) -> Structure {
        let mut table = Self::new([], 0);
        table.rows = rows;
        table.finish(false)
    }

    /// Makes a table for rows of at most this many bytes in total; it holds at least one row.
    pub fn new<'a, C>(columns: C, max_bytes: usize) -> Self
    where
        C: IntoIterator<Item = &'a str>,
    {
        let mut json = Text::new();
        json.push_json(r#"{"columns":["#);
        for (index, column) in columns.into_iter().enumerate() {
            json.push_json(if index == 0 { "\"" } else { ",\"" });
            json.push_str(column);
            json.push_json("\"");
        }
        json.push_json(r#"],"rows":["#);
        Self {
            start: json.len(),
            json,
            rows: 0,
            max_bytes,
            is_cut: false,
        }
    }

    /// Adds a group of rows, all or none: once a group did not fit, later ones are skipped.
    pub fn add<E>(&mut self, write: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        if self.is_cut {
            return Ok(());
        }
        let (end, rows) = (self.json.mark(), self.rows);
        write(self)?;
        if rows > 0 && self.json.len() - self.start > self.max_bytes {
            self.json.cut(end);
            self.rows = rows;
            self.is_cut = true;
        }
        Ok(())
    }

    /// Writes a row.
    pub fn write_row<'a, V, E>(&mut self, values: V) -> Result<(), E>
    where
        V: IntoIterator<Item = Result<Scalar<'a>, E>>,
    {
        self.json.push_json(if self.rows == 0 { "[" } else { ",[" });
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                self.json.push_json(",");
            }
            write_scalar(&mut self.json, value?);
        }
        self.json.push_json("]");
        self.rows += 1;
        Ok(())
    }

    /// Returns the structure.
    pub fn finish(mut self, has_more: bool) -> Structure {
        let (rows, is_truncated) = (self.rows, self.is_cut || has_more);
        let end = format!(r#"],"row_count":{rows},"truncated":{is_truncated}}}"#);
        self.json.push_json(&end);
        Structure::from_json(self.json)
    }
}

/// Writes a value as JSON.
pub fn write_scalar(json: &mut Text, value: Scalar<'_>) {
    match value {
        Scalar::Null => json.push_json("null"),
        Scalar::Bool(true) => json.push_json("true"),
        Scalar::Bool(false) => json.push_json("false"),
        Scalar::Number(number) => json.push_json(number),
        Scalar::Timestamp(text) => quote(json, |json| tsv::write_timestamp(json, text)),
        Scalar::Text(text) => quote(json, |json| json.push_str(text)),
    }
}

fn quote(json: &mut Text, write: impl FnOnce(&mut Text)) {
    json.push_json("\"");
    write(json);
    json.push_json("\"");
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::{Value, json};

    use super::*;

    fn read(table: Structure) -> Value {
        serde_json::from_slice(&table.into_json()).expect("JSON")
    }

    fn add(table: &mut Table, rows: &[&[Scalar<'_>]]) {
        let Ok(()): Result<(), Infallible> = table.add(|table| {
            for row in rows {
                table.write_row(row.iter().map(|value| Ok::<_, Infallible>(*value)))?;
            }
            Ok(())
        });
    }

    #[test]
    fn a_table_is_its_columns_and_its_rows() {
        let mut table = Table::new(["a", "a", "q\"\n"], 1000);
        let text = Scalar::Text("b\\\t\u{1}é");
        add(&mut table, &[&[Scalar::Null, Scalar::Bool(true), text]]);
        add(
            &mut table,
            &[&[
                Scalar::Number("1e-07"),
                Scalar::Timestamp("2024-01-31 13:34:56+01"),
                Scalar::Timestamp("2024-01-31 12:34:56"),
            ]],
        );
        assert_eq!(
            read(table.finish(true)),
            json!({
                "columns": ["a", "a", "q\"\n"],
                "rows": [[null, true, "b\\\t\u{1}é"], [1e-7, "2024-01-31T12:34:56Z", "2024-01-31T12:34:56"]],
                "row_count": 2,
                "truncated": true,
            })
        );
        let mut table = Table::new([], 1000);
        add(&mut table, &[&[], &[]]);
        let expected = json!({"columns": [], "rows": [[], []], "row_count": 2, "truncated": false});
        assert_eq!(read(table.finish(false)), expected);
        let expected = json!({"columns": [], "rows": [], "row_count": 3, "truncated": false});
        assert_eq!(read(Table::changed(3)), expected);
    }

    #[test]
    fn a_table_ends_before_rows_that_do_not_fit_but_holds_the_first() {
        let one = Scalar::Number("1");
        let rows = |max_bytes: usize| {
            let mut table = Table::new(["n"], max_bytes);
            add(&mut table, &[&[one], &[one]]);
            add(&mut table, &[&[one], &[Scalar::Text("too long")]]);
            // Later rows are skipped even if they are shorter, so that no rows are missing in the
            // middle.
            add(&mut table, &[&[one]]);
            let table = read(table.finish(false));
            let rows = table["rows"].as_array().expect("rows").len();
            assert_eq!(table["row_count"], rows);
            (rows, table["truncated"] == true)
        };
        assert_eq!(rows(0), (2, true));
        assert_eq!(rows(23), (2, true));
        assert_eq!(rows(24), (4, true));
        assert_eq!(rows(28), (5, false));
    }
}
