//! The summary of a database with many tables, a paragraph for each schema.

use std::fmt::Write as _;

use ziggurat_postgres::{metadata::Table, tsv};

/// Number of names shown as examples.
const EXAMPLES: usize = 5;

/// Limit on the schemas that are described.
pub(super) const MAX_SCHEMAS: usize = 100;

/// Limit on the schemas that are offered as next steps.
const MAX_STEPS: usize = 20;

/// Limits on a summary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    schemas: usize,
    steps: usize,
}

// === impl Limits ===

impl Limits {
    /// Returns limits for a shorter summary, unless it has no schemas.
    pub(super) fn half(self) -> Option<Self> {
        let (schemas, steps) = (self.schemas / 2, self.steps / 2);
        (self.schemas > 0).then_some(Self { schemas, steps })
    }
}

impl Default for Limits {
    fn default() -> Self {
        let (schemas, steps) = (MAX_SCHEMAS, MAX_STEPS);
        Self { schemas, steps }
    }
}

/// Writes the summary of sorted tables.
pub(super) fn write(out: &mut String, tables: &[Table<'_>], limits: Limits) {
    let schemas = schemas(tables);
    out.push_str("Database Schema Summary:\n========================\n\n");
    write!(
        out,
        "Found {} tables across {} schemas.\n\n",
        tables.len(),
        schemas.len()
    )
    .expect("a string takes all that is written");
    for &schema in schemas.iter().take(limits.schemas) {
        write_schema(out, schema);
    }
    if let Some(more) = more(schemas.len(), limits.schemas) {
        write!(out, "... and {more} more schemas.\n\n")
            .expect("a string takes all that is written");
    }
    write_steps(out, &schemas, limits.steps);
}

/// Groups sorted tables by schema.
pub(super) fn schemas<'a, 'b>(tables: &'b [Table<'a>]) -> Vec<&'b [Table<'a>]> {
    let of_one = |one: &Table<'_>, two: &Table<'_>| one.schema() == two.schema();
    tables.chunk_by(of_one).collect()
}

/// Returns the names of the first tables, or of the first tables with vectors. May be empty.
pub(super) fn names(tables: &[Table<'_>], only_vectors: bool) -> String {
    let mut out = String::new();
    let tables = tables.iter().copied();
    write_examples(
        &mut out,
        tables.filter(|table| table.has_vectors() || !only_vectors),
    );
    out
}

fn write_schema(out: &mut String, tables: &[Table<'_>]) {
    out.push_str("Schema '");
    tsv::write_text(out, tables[0].schema());
    writeln!(out, "': {} tables", tables.len()).expect("a string takes all that is written");
    write_names(out, "Tables", tables.iter().copied());
    if tables.iter().any(|table| table.has_vectors()) {
        let vectors = tables.iter().copied().filter(|table| table.has_vectors());
        write_names(out, "Vector-enabled", vectors);
    }
    out.push('\n');
}

fn write_names<'a, I>(out: &mut String, label: &str, tables: I)
where
    I: Iterator<Item = Table<'a>> + Clone,
{
    write!(out, "  {label}: ").expect("a string takes all that is written");
    write_examples(out, tables);
    out.push('\n');
}

fn write_examples<'a, I>(out: &mut String, tables: I)
where
    I: Iterator<Item = Table<'a>> + Clone,
{
    for (index, table) in tables.clone().take(EXAMPLES).enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        tsv::write_text(out, table.name());
    }
    if let Some(more) = more(tables.count(), EXAMPLES) {
        write!(out, ", ... (+{more} more)").expect("a string takes all that is written");
    }
}

fn write_steps(out: &mut String, schemas: &[&[Table<'_>]], steps: usize) {
    out.push_str(
        "<next_steps>\n\
         Columns are left out because there are many tables. Call get_schema_info again with:\n\
         - schema_name, and table_name if you know it, for the columns\n\
         - vector_tables_only=true for the tables that can be searched by similarity\n\
         - compact=true for the name and comment of every table\n\
         \n\
         The schemas:\n",
    );
    for tables in schemas.iter().take(steps) {
        out.push_str("- schema_name=\"");
        tsv::write_text(out, tables[0].schema());
        writeln!(out, "\" ({} tables)", tables.len()).expect("a string takes all that is written");
    }
    if let Some(more) = more(schemas.len(), steps) {
        writeln!(out, "- ... (+{more} more)").expect("a string takes all that is written");
    }
    out.push_str("</next_steps>");
}

/// Returns the number of items that are not shown, if any.
fn more(count: usize, shown: usize) -> Option<usize> {
    count.checked_sub(shown).filter(|&more| more > 0)
}
