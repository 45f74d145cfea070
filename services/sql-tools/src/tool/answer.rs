//! The result of a call, in the form that the tool declares.

use std::fmt::Write as _;

use futures_util::TryStreamExt as _;
use serde_json::json;
use ziggurat_answers::{CallFormat, Fence, Table, write_cut_note, write_scalar};
use ziggurat_calls::{
    Call,
    limits::{Left, Refused},
};
use ziggurat_mcp::{Reported, Schema, Structure, Text, ToolResult};
use ziggurat_postgres::{
    error::QueryError,
    kind::Kind,
    rows::{ResultColumn, ResultRow, Rows},
};

use crate::definition::{Definition, Shape};

/// A row up to this size is read even if the limit of the answer is smaller.
pub(super) const MIN_ROW_LIMIT: usize = 1 << 10;

/// Limit on the columns of a Markdown table.
const MAX_COLUMNS: usize = 50;

const INFALLIBLE: &str = "a string takes all that is written";

/// Makes the result of one call.
pub(crate) struct Answer<'a> {
    pub(super) definition: &'a Definition,
    pub(super) max_bytes: usize,
    pub(super) format: CallFormat,
    pub(super) call: &'a Call,
    /// The line before the text, with its line break; empty for none.
    pub(super) label: &'a str,
    pub(super) is_structured: bool,
}

/// The reason why there is no result.
pub(crate) enum AnswerError {
    Query(QueryError),
    Reported(Reported),
}

/// The rows of a result.
struct Found {
    columns: Vec<ResultColumn>,
    rows: Vec<ResultRow>,
    has_more: bool,
    /// The number of rows that a command without columns changed.
    changed: Option<u64>,
}

/// The rows of a result that an answer may have.
struct KeptRows {
    rows: Vec<ResultRow>,
    bytes: usize,
    max_bytes: usize,
    left: Left,
    /// The limit of the caller that was reached.
    used_up: Option<Refused>,
    is_cut: bool,
}

/// A text in the making.
struct Written {
    text: String,
    has_cut_values: bool,
}

// === impl Answer ===

impl Answer<'_> {
    /// Reads the rows, and writes them.
    pub(super) async fn read(&self, rows: Rows) -> Result<ToolResult, AnswerError> {
        let found = self.find(rows).await?;
        self.write(found)
    }

    fn write(&self, mut found: Found) -> Result<ToolResult, AnswerError> {
        let count = found.changed.unwrap_or(found.rows.len() as u64);
        self.call.set_rows(count);
        let mut text = if found.rows.is_empty() {
            self.empty(&found)
        } else {
            self.text(&mut found)?
        };
        text.insert_str(0, self.label);
        self.call.count(found.rows.len() as u64, text.len());
        let structure = self.is_structured.then(|| self.structure(&found));
        let structure = structure.transpose()?.flatten();
        Ok(ToolResult::text(text).with_structure(structure))
    }

    /// Writes rows that have been read already.
    pub(crate) fn write_rows(
        &self,
        columns: Vec<ResultColumn>,
        rows: Vec<ResultRow>,
    ) -> Result<ToolResult, AnswerError> {
        let mut kept = KeptRows::new(self);
        for row in rows {
            kept.add(row);
        }
        let found = kept.found(columns, None)?;
        self.write(found)
    }

    /// Reads as many rows as an answer may have. A statement that writes is read to its end, because
    /// it is undone otherwise.
    async fn find(&self, mut rows: Rows) -> Result<Found, AnswerError> {
        let mut kept = KeptRows::new(self);
        let columns = rows.columns().to_vec();
        while let Some(row) = rows.try_next().await? {
            kept.add(row);
            if kept.is_cut {
                rows.leave_out();
            }
            if kept.is_cut && self.definition.write.is_none() {
                break;
            }
        }
        let summary = rows.summary();
        let changed = summary.filter(|_| rows.is_command()).map(|it| it.affected);
        let mut found = kept.found(columns, summary.and_then(|it| it.oversized))?;
        found.has_more |= summary.is_some_and(|it| it.has_more);
        found.changed = changed;
        Ok(found)
    }

    /// Returns the text of a result without rows.
    fn empty(&self, found: &Found) -> String {
        match (&self.definition.empty, found.changed) {
            (Some(text), _) => text.clone(),
            (None, Some(rows)) => format!("Rows affected: {rows}"),
            (None, None) => "No rows.".to_owned(),
        }
    }

    fn text(&self, found: &mut Found) -> Result<String, AnswerError> {
        let fence = self.format.fence();
        let mut body = Written::new();
        match self.definition.shape {
            Shape::Rows => {
                self.write_tsv(found, &mut body)?;
                return Ok(body.finish(self.format, fence.as_ref(), &heading(found)));
            }
            Shape::Value => {
                if !self.value(found, &mut body)? {
                    return Ok(self.empty(found));
                }
            }
            Shape::Record => self.write_record(found, &mut body)?,
            Shape::Json => {
                let table = self.table(found)?.into_json();
                body.text = String::from_utf8_lossy(&table).into_owned();
            }
            Shape::Markdown => {
                self.write_markdown(found, &mut body)?;
                let text = body.finish(self.format, fence.as_ref(), "");
                return Ok(text + &markdown_note(found));
            }
        }
        Ok(body.finish(self.format, fence.as_ref(), ""))
    }

    /// Writes the lines of rows, and drops those that do not fit.
    fn write_lines(
        &self,
        found: &mut Found,
        body: &mut Written,
        write: impl Fn(&ResultRow, &mut Written) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        for (index, row) in found.rows.iter().enumerate() {
            let before = body.text.len();
            body.text.push('\n');
            write(row, body)?;
            if index > 0 && body.text.len() > self.max_bytes {
                body.text.truncate(before);
                found.rows.truncate(index);
                found.has_more = true;
                break;
            }
        }
        Ok(())
    }

    fn write_tsv(&self, found: &mut Found, body: &mut Written) -> Result<(), QueryError> {
        // Rows without columns have no lines.
        if found.columns.is_empty() {
            return Ok(());
        }
        let fields = self.format.fields();
        for (index, column) in found.columns.iter().enumerate() {
            if index > 0 {
                body.text.push('\t');
            }
            fields.write_text(&mut body.text, column.name());
        }
        self.write_lines(found, body, |row, body| {
            body.has_cut_values |= row.write_tsv(&mut body.text, fields)?;
            Ok(())
        })
    }

    /// Writes the only value of a result, and returns whether it is not NULL.
    fn value(&self, found: &Found, body: &mut Written) -> Result<bool, AnswerError> {
        if found.has_more || found.columns.len() != 1 || found.rows.len() != 1 {
            let name = &self.definition.name;
            let text = format!("Tool '{name}' returned more than one value");
            return Err(Reported::new(text).into());
        }
        let Some(text) = found.rows[0].text(0)? else {
            return Ok(false);
        };
        let fields = self.format.fields();
        if found.columns[0].kind() != Kind::Text {
            body.has_cut_values = fields.write_value(&mut body.text, found.columns[0].kind(), text);
            return Ok(true);
        }
        // Its line breaks stay.
        let mut lines = text.split('\n');
        let fits = fields.max_bytes.is_none_or(|max| text.len() <= max);
        if fits {
            let whole = tsv_line(fields, lines.next().unwrap_or_default());
            body.text = lines.fold(whole, |all, line| all + "\n" + &tsv_line(fields, line));
        } else {
            body.has_cut_values = fields.write_value(&mut body.text, Kind::Text, text);
        }
        Ok(true)
    }

    fn write_record(&self, found: &Found, body: &mut Written) -> Result<(), QueryError> {
        let row = &found.rows[0];
        for (index, column) in found.columns.iter().enumerate() {
            if index > 0 {
                body.text.push('\n');
            }
            self.format
                .fields()
                .write_text(&mut body.text, column.name());
            body.text.push_str(": ");
            self.write_field(row, index, column, "\\N", body)?;
        }
        Ok(())
    }

    fn write_markdown(&self, found: &mut Found, body: &mut Written) -> Result<(), QueryError> {
        let columns: Vec<_> = found.columns.iter().take(MAX_COLUMNS).cloned().collect();
        for column in &columns {
            let mut name = String::new();
            self.format.fields().write_text(&mut name, column.name());
            write!(body.text, "| {} ", name.replace('|', "\\|")).expect(INFALLIBLE);
        }
        body.text.push_str("|\n");
        body.text.push_str(&"| --- ".repeat(columns.len()));
        body.text.push('|');
        self.write_lines(found, body, |row, body| {
            for (index, column) in columns.iter().enumerate() {
                let mut field = Written::new();
                self.write_field(row, index, column, "", &mut field)?;
                body.has_cut_values |= field.has_cut_values;
                write!(body.text, "| {} ", field.text.replace('|', "\\|")).expect(INFALLIBLE);
            }
            body.text.push('|');
            Ok(())
        })
    }

    fn write_field(
        &self,
        row: &ResultRow,
        index: usize,
        column: &ResultColumn,
        null: &str,
        body: &mut Written,
    ) -> Result<(), QueryError> {
        let fields = self.format.fields();
        match row.text(index)? {
            Some(text) => {
                body.has_cut_values |= fields.write_value(&mut body.text, column.kind(), text);
            }
            None if fields.is_unambiguous => body.text.push_str(null),
            None => {}
        }
        Ok(())
    }

    fn table(&self, found: &Found) -> Result<Structure, QueryError> {
        if let Some(changed) = found.changed {
            return Ok(Table::changed(changed));
        }
        let mut table = Table::new(found.columns.iter().map(ResultColumn::name), self.max_bytes);
        for row in &found.rows {
            table.add(|table| table.write_row(row.scalars()))?;
        }
        Ok(table.finish(found.has_more))
    }

    /// Returns the structure of a result, if its form has one.
    fn structure(&self, found: &Found) -> Result<Option<Structure>, QueryError> {
        let mut json = Text::new();
        match self.definition.shape {
            Shape::Rows | Shape::Json => return self.table(found).map(Some),
            Shape::Markdown => return Ok(None),
            Shape::Value => {
                json.push_json(r#"{"value":"#);
                match found.rows.first().and_then(|row| row.scalars().next()) {
                    Some(value) => write_scalar(&mut json, value?),
                    None => json.push_json("null"),
                }
                json.push_json("}");
            }
            Shape::Record => {
                json.push_json(r#"{"record":{"#);
                let mut names = Vec::new();
                let values = found.rows.first().into_iter().flat_map(ResultRow::scalars);
                for (column, value) in found.columns.iter().zip(values) {
                    // JSON has one member of a name; the text has all columns.
                    if names.contains(&column.name()) {
                        continue;
                    }
                    json.push_json(if names.is_empty() { "\"" } else { ",\"" });
                    json.push_str(column.name());
                    json.push_json("\":");
                    write_scalar(&mut json, value?);
                    names.push(column.name());
                }
                json.push_json("}}");
            }
        }
        Ok(Some(Structure::from_json(json)))
    }
}

/// Returns the schema of the structures of a form.
pub(super) fn schema(shape: Shape) -> Option<Schema> {
    match shape {
        Shape::Rows | Shape::Json => Some(Table::schema()),
        Shape::Value => Some(Schema::raw(json!({
            "type": "object",
            "properties": {"value": {"type": ["string", "number", "boolean", "null"]}},
            "required": ["value"],
        }))),
        Shape::Record => Some(Schema::raw(json!({
            "type": "object",
            "properties": {"record": {"type": "object"}},
            "required": ["record"],
        }))),
        Shape::Markdown => None,
    }
}

fn heading(found: &Found) -> String {
    let rows = found.rows.len();
    if found.has_more {
        format!("Results ({rows} rows shown, more available):\n")
    } else {
        format!("Results ({rows} rows):\n")
    }
}

/// Returns the note below a Markdown table that is not all of the result.
fn markdown_note(found: &Found) -> String {
    let mut note = String::new();
    let (rows, columns) = (found.rows.len(), found.columns.len());
    if columns > MAX_COLUMNS {
        write!(note, "\n\n({MAX_COLUMNS} of {columns} columns shown)").expect(INFALLIBLE);
    }
    if found.has_more {
        write!(note, "\n\n({rows} rows shown, more available)").expect(INFALLIBLE);
    }
    note
}

/// Returns a line of a text as it stands in a field, with its tabs and backslashes.
fn tsv_line(fields: ziggurat_postgres::tsv::Format, line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for (index, part) in line.split(['\t', '\\', '\r']).enumerate() {
        if index > 0 {
            let at = part.as_ptr().addr() - line.as_ptr().addr() - 1;
            out.push_str(&line[at..=at]);
        }
        fields.write_text(&mut out, part);
    }
    out
}

// === impl KeptRows ===

impl KeptRows {
    fn new(answer: &Answer<'_>) -> Self {
        Self {
            rows: Vec::new(),
            bytes: 0,
            max_bytes: answer.max_bytes,
            left: answer.call.left(),
            used_up: None,
            is_cut: false,
        }
    }

    fn add(&mut self, row: ResultRow) {
        if self.is_cut {
            return;
        }
        self.bytes += row.size();
        self.used_up = self.left.exceeded(self.rows.len() as u64 + 1, self.bytes);
        self.is_cut =
            self.used_up.is_some() || !self.rows.is_empty() && self.bytes > self.max_bytes;
        if !self.is_cut {
            self.rows.push(row);
        }
    }

    /// Returns the result, which ends before a row of `oversized` bytes if there is one.
    fn found(
        self,
        columns: Vec<ResultColumn>,
        oversized: Option<usize>,
    ) -> Result<Found, Reported> {
        if self.rows.is_empty()
            && let Some(refused) = self.used_up
        {
            return Err(Reported::new(refused.to_string()));
        }
        if self.rows.is_empty()
            && let Some(bytes) = oversized
        {
            let max = self.max_bytes;
            let text = format!("Error: a row has {bytes} bytes, more than the {max} of an answer");
            return Err(Reported::new(text));
        }
        Ok(Found {
            columns,
            rows: self.rows,
            has_more: self.is_cut || oversized.is_some(),
            changed: None,
        })
    }
}

// === impl Written ===

impl Written {
    fn new() -> Self {
        Self {
            text: String::new(),
            has_cut_values: false,
        }
    }

    /// Returns the text below a heading, with the lines around values.
    fn finish(self, format: CallFormat, fence: Option<&Fence>, heading: &str) -> String {
        let mut whole = String::with_capacity(self.text.len() + heading.len());
        if self.has_cut_values {
            write_cut_note(&mut whole, format.fields().max_bytes);
            whole.push('\n');
        }
        whole.push_str(heading);
        whole.push_str(&fence.map(Fence::first_line).unwrap_or_default());
        whole.push_str(&self.text);
        whole.push_str(&fence.map(Fence::last_line).unwrap_or_default());
        whole
    }
}

// === impl AnswerError ===

impl From<QueryError> for AnswerError {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

impl From<Reported> for AnswerError {
    fn from(reported: Reported) -> Self {
        Self::Reported(reported)
    }
}
