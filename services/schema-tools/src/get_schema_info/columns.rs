//! The lines of an answer: tab-separated, one for each column or for each table.

use std::{fmt::Write as _, iter};

use ziggurat_postgres::{
    metadata::{Column, Table},
    statement::MaskedColumns,
    tsv,
};

use ziggurat_answers::CallFormat;

const TABLE_HEADER: &str = "schema\ttable\ttype\ttable_desc";
/// The fields of a table, all of them empty.
const EMPTY_TABLE: &str = "\t\t\t";
const COLUMN_HEADER: &str = "column\tdata_type\tnullable\tcol_desc\tis_pk\tis_unique\tfk_ref\t\
     is_indexed\tidentity\tdefault\tis_vector\tvector_dims";
/// The field of a column for callers with masks.
const MARK_HEADER: &str = "masked";

/// Lines within the size limit.
pub(super) struct Listing {
    lines: String,
    max_bytes: usize,
    with_columns: bool,
    format: CallFormat,
    /// Set if each line has the fields of its table, not only the first one.
    repeats: bool,
    /// The columns that are masked for the caller.
    masked: MaskedColumns,
    /// Number of tables in it.
    tables: usize,
}

/// Returns the header of the fields of a table.
pub(super) fn table_header() -> impl Iterator<Item = &'static str> {
    TABLE_HEADER.split('\t')
}

/// Returns the header of the fields of a column.
pub(super) fn column_header(masked: &MaskedColumns) -> impl Iterator<Item = &'static str> {
    let mark = (!masked.is_empty()).then_some(MARK_HEADER);
    COLUMN_HEADER.split('\t').chain(mark)
}

// === impl Listing ===

impl Listing {
    /// Makes an empty listing of tables, each with its columns or alone.
    pub(super) fn new(
        max_bytes: usize,
        with_columns: bool,
        format: CallFormat,
        masked: &MaskedColumns,
    ) -> Self {
        Self {
            lines: String::new(),
            max_bytes,
            with_columns,
            format,
            repeats: true,
            masked: masked.clone(),
            tables: 0,
        }
    }

    /// Leaves the fields of a table empty but for the first of its lines.
    pub(super) fn without_repetition(mut self) -> Self {
        self.repeats = false;
        self
    }

    /// Adds tables until one does not fit; the first one is always added.
    pub(super) fn extend(&mut self, tables: &[Table<'_>]) {
        for &table in tables {
            let whole = self.lines.len();
            self.add(table);
            if self.tables > 0 && self.lines.len() > self.max_bytes {
                self.lines.truncate(whole);
                return;
            }
            self.tables += 1;
        }
    }

    /// Removes the last columns of a table that is larger than the limit. Returns their number.
    pub(super) fn cut(&mut self) -> usize {
        let Some(fitting) = self.lines.as_bytes().get(..self.max_bytes) else {
            return 0;
        };
        let end = fitting.iter().rposition(|&byte| byte == b'\n');
        let end = end.map_or(0, |end| end + 1);
        let missing = self.lines.split_off(end);
        missing.lines().count()
    }

    /// Returns whether all lines are within the limit.
    pub(super) fn is_within_limit(&self) -> bool {
        self.lines.len() <= self.max_bytes
    }

    /// Returns the number of bytes of the line above the others.
    pub(super) fn header_bytes(with_columns: bool, masked: &MaskedColumns) -> usize {
        let fields = column_header(masked).map(|field| field.len() + 1);
        TABLE_HEADER.len() + usize::from(with_columns) * fields.sum::<usize>() + 1
    }

    /// Returns the number of tables in it.
    pub(super) fn tables(&self) -> usize {
        self.tables
    }

    /// Writes the header and the lines, after a note about the number of tables if some are
    /// missing.
    pub(super) fn write(&self, out: &mut String, of: usize) {
        let shown = self.tables;
        if shown < of {
            write!(
                out,
                "Note: the first {shown} of {of} tables, for the answer would be too long. \
                 Name a schema, or a schema and a table, to see the others.\n\n"
            )
            .expect("a string takes all that is written");
        }
        out.push_str(TABLE_HEADER);
        if self.with_columns {
            column_header(&self.masked).for_each(|field| out.extend(["\t", field]));
        }
        out.push('\n');
        out.push_str(&self.lines);
    }

    fn add(&mut self, table: Table<'_>) {
        let out = &mut self.lines;
        let start = out.len();
        let format = self.format.fields();
        write_table(out, table, format);
        if !self.with_columns {
            out.push('\n');
            return;
        }
        let mut about = out.split_off(start);
        for column in table.columns() {
            out.push_str(&about);
            write_column(out, column, format);
            if !self.masked.is_empty() {
                let is_masked = self.masked.mark(table.oid(), column.number());
                out.extend(["\t", truth(is_masked)]);
            }
            out.push('\n');
            if !self.repeats {
                about.replace_range(.., EMPTY_TABLE);
            }
        }
        if table.columns().len() == 0 {
            // A table without columns would have no line otherwise.
            out.push_str(&about);
            let fields = column_header(&self.masked).count();
            out.extend(iter::repeat_n('\t', fields));
            out.push('\n');
        }
    }
}

fn write_table(out: &mut String, table: Table<'_>, format: tsv::Format) {
    let fields = [
        table.schema(),
        table.name(),
        table.kind().as_str(),
        table.comment(),
    ];
    for (index, field) in fields.into_iter().enumerate() {
        if index > 0 {
            out.push('\t');
        }
        format.write_text(out, field);
    }
}

fn write_column(out: &mut String, column: Column<'_>, format: tsv::Format) {
    let fields = [
        column.name(),
        column.data_type(),
        if column.is_nullable() { "YES" } else { "NO" },
        column.comment(),
        truth(column.is_primary_key()),
        truth(column.is_unique()),
        column.references(),
        truth(column.is_indexed()),
        column.identity(),
        column.default(),
        truth(column.is_vector()),
        &column.vector_dims().to_string(),
    ];
    for field in fields {
        out.push('\t');
        format.write_text(out, field);
    }
}

fn truth(is_so: bool) -> &'static str {
    if is_so { "true" } else { "false" }
}
