//! The formats of files.

use std::collections::HashSet;

use http::HeaderValue;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use ziggurat_answers::write_scalar;
use ziggurat_postgres::{
    error::QueryError,
    kind::Kind,
    rows::{ResultColumn, ResultRow},
    scalar::Scalar,
    tsv,
};
use ziggurat_runtime::escape::is_formula;
use ziggurat_text::Text;

/// Format of a file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExportFormat {
    /// RFC 4180, in UTF-8, with the names of the columns in the first line.
    Csv,
    /// The same with tabs instead of commas.
    Tsv,
    /// A list with an object for each row.
    Json,
    /// An object on each line.
    Ndjson,
}

/// Writes rows in a format.
#[derive(Debug)]
pub(super) struct RowWriter {
    format: ExportFormat,
    is_guarded: bool,
    /// The names of the members of an object, each with the characters before its value.
    members: Vec<String>,
    is_first: bool,
}

// === impl ExportFormat ===

impl ExportFormat {
    pub(super) fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Tsv => "text/tab-separated-values; charset=utf-8",
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
        })
    }

    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
        }
    }

    fn delimiter(self) -> char {
        if self == Self::Tsv { '\t' } else { ',' }
    }
}

// === impl RowWriter ===

impl RowWriter {
    /// Makes a writer. Formulas are guarded in formats for spreadsheets.
    pub(super) fn new(format: ExportFormat, is_guarded: bool, columns: &[ResultColumn]) -> Self {
        Self {
            format,
            is_guarded,
            members: members(columns),
            is_first: true,
        }
    }

    /// Writes what stands before the rows.
    pub(super) fn begin(&self, columns: &[ResultColumn], out: &mut String) {
        match self.format {
            ExportFormat::Csv | ExportFormat::Tsv => {
                for (index, column) in columns.iter().enumerate() {
                    if index > 0 {
                        out.push(self.format.delimiter());
                    }
                    self.write_field(column.name(), out);
                }
                out.push_str("\r\n");
            }
            ExportFormat::Json => out.push('['),
            ExportFormat::Ndjson => {}
        }
    }

    /// Writes a row.
    pub(super) fn write(&mut self, row: &ResultRow, out: &mut String) -> Result<(), QueryError> {
        match self.format {
            ExportFormat::Csv | ExportFormat::Tsv => self.write_line(row, out)?,
            ExportFormat::Json => {
                out.push_str(if self.is_first { "\n" } else { ",\n" });
                self.write_object(row, out)?;
            }
            ExportFormat::Ndjson => {
                self.write_object(row, out)?;
                out.push('\n');
            }
        }
        self.is_first = false;
        Ok(())
    }

    /// Writes what stands behind the rows.
    pub(super) fn end(&self, out: &mut String) {
        if self.format == ExportFormat::Json {
            out.push_str(if self.is_first { "]\n" } else { "\n]\n" });
        }
    }

    fn write_line(&self, row: &ResultRow, out: &mut String) -> Result<(), QueryError> {
        for (index, value) in row.scalars().enumerate() {
            if index > 0 {
                out.push(self.format.delimiter());
            }
            match value? {
                Scalar::Null => {}
                Scalar::Bool(value) => out.push_str(if value { "true" } else { "false" }),
                Scalar::Number(number) => out.push_str(number),
                Scalar::Timestamp(text) => {
                    let mut timestamp = String::new();
                    tsv::write_timestamp(&mut timestamp, text);
                    self.write_field(&timestamp, out);
                }
                Scalar::Text(text) => self.write_field(text, out),
            }
        }
        out.push_str("\r\n");
        Ok(())
    }

    /// Writes a text, in quotes if it needs them. An empty one has quotes, since without them it
    /// would be a NULL.
    fn write_field(&self, text: &str, out: &mut String) {
        let is_guarded = self.is_guarded && is_formula(text);
        let delimiter = self.format.delimiter();
        let is_special =
            |character| matches!(character, '"' | '\r' | '\n') || character == delimiter;
        let is_quoted = text.is_empty() || text.contains(is_special);
        if is_quoted {
            out.push('"');
        }
        if is_guarded {
            out.push('\'');
        }
        if is_quoted {
            for (index, part) in text.split('"').enumerate() {
                out.push_str(if index == 0 { "" } else { "\"\"" });
                out.push_str(part);
            }
            out.push('"');
        } else {
            out.push_str(text);
        }
    }

    fn write_object(&self, row: &ResultRow, out: &mut String) -> Result<(), QueryError> {
        let mut json = Text::new();
        let columns = row.columns().iter().zip(&self.members);
        for ((column, member), value) in columns.zip(row.scalars()) {
            json.push_json(member);
            match value? {
                // A document is part of the document.
                Scalar::Text(text) if column.kind() == Kind::Json => {
                    json.push_json(&tsv::compact_json(text));
                }
                value => write_scalar(&mut json, value),
            }
        }
        if self.members.is_empty() {
            json.push_json("{");
        }
        json.push_json("}");
        out.push_str(json.as_escaped());
        Ok(())
    }
}

/// Returns the beginnings of the members of an object. A name that repeats gets a number.
fn members(columns: &[ResultColumn]) -> Vec<String> {
    let mut known = HashSet::new();
    let members = columns.iter().enumerate().map(|(index, column)| {
        let mut name = column.name().to_owned();
        let mut number = 1;
        while !known.insert(name.clone()) {
            number += 1;
            name = format!("{}_{number}", column.name());
        }
        let before = if index == 0 { '{' } else { ',' };
        format!("{before}{}:", json!(name))
    });
    members.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(format: ExportFormat, is_guarded: bool, text: &str) -> String {
        let writer = RowWriter::new(format, is_guarded, &[]);
        let mut out = String::new();
        writer.write_field(text, &mut out);
        out
    }

    #[test]
    fn a_field_is_quoted_where_it_has_to_be() {
        for (text, csv, tsv) in [
            ("", "\"\"", "\"\""),
            ("plain é", "plain é", "plain é"),
            ("a,b", "\"a,b\"", "a,b"),
            ("a\tb", "a\tb", "\"a\tb\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\"", "\"say \"\"hi\"\"\""),
            ("\"", "\"\"\"\"", "\"\"\"\""),
            ("two\nlines", "\"two\nlines\"", "\"two\nlines\""),
            ("=1+1", "=1+1", "=1+1"),
        ] {
            assert_eq!(field(ExportFormat::Csv, false, text), csv, "{text:?}");
            assert_eq!(field(ExportFormat::Tsv, false, text), tsv, "{text:?}");
        }
    }

    #[test]
    fn a_formula_is_guarded_and_a_number_is_none() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""),
            ("\tx", "'\tx"),
            ("\r=1", "\"'\r=1\""),
            ("\n=1", "\"'\n=1\""),
            ("\nx", "\"'\nx\""),
            (" =1", "' =1"),
            ("\u{a0}\u{feff}@A1", "'\u{a0}\u{feff}@A1"),
            ("\u{200b}+1+1", "'\u{200b}+1+1"),
            ("＝1+1", "'＝1+1"),
            ("－2+3", "'－2+3"),
            ("﹫A1", "'﹫A1"),
            (" -12.50", " -12.50"),
            ("-12.50", "-12.50"),
            ("+7", "+7"),
            ("a=1", "a=1"),
        ] {
            assert_eq!(field(ExportFormat::Csv, true, text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_that_repeat_get_a_number() {
        let columns = ["a", "a", "a_2", "a", "q\"", ""].map(ResultColumn::text);
        assert_eq!(
            members(&columns),
            [
                r#"{"a":"#,
                r#","a_2":"#,
                r#","a_2_2":"#,
                r#","a_3":"#,
                r#","q\"":"#,
                r#","":"#
            ]
        );
    }
}
