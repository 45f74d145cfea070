//! Tools of `DBHub`: built-in ones, and statements.

use crate::{Adoption, Input, Surroundings, tool::Tool, tree::Node};

/// Sentence about a source that may write there.
pub(super) const READS_ONLY: &str = "execute_sql: statements only read here; to let them write, set \
                                     allow_writes: true of the database";

/// Reads a tool. `limited` tells of which databases it is known that they only read.
pub(super) fn read(
    input: &Input<'_>,
    node: &Node,
    surroundings: &Surroundings<'_>,
    adoption: &mut Adoption,
    limited: &mut [bool],
    before: usize,
) {
    let original = node.find_text("name").unwrap_or_default();
    let place = input.place(node.line, &original);
    let source = node.find_text("source");
    let own = &adoption.databases[before..];
    let database = match &source {
        Some(source) => own.iter().position(|it| it.name == *source),
        None => (own.len() == 1).then_some(0),
    };
    let Some(at) = database else {
        adoption
            .report
            .missing(place, "its source is not a PostgreSQL database");
        return;
    };
    let reads_only = node.find_bool("readonly") == Some(true);
    match original.as_str() {
        "execute_sql" => {
            if let Some(rows) = node.find_text("max_rows") {
                let rows = rows.parse().unwrap_or(1_000).min(1_000).to_string();
                adoption.databases[before + at].put("row_limit", rows, None);
            }
            limited[at] = true;
            if reads_only {
                adoption.report.same(place, "query_database");
            } else {
                adoption.report.changed(place, READS_ONLY);
            }
        }
        "search_objects" => adoption
            .report
            .same(place, "search_schema, get_schema_info"),
        "explain_sql" => adoption.report.same(place, "execute_explain"),
        "health_check" => {
            adoption.dba = true;
            adoption
                .report
                .changed(place, "db_health of the administrator's pack, which is on");
        }
        _ => {
            let mut tool = Tool::read(node, place, before + at, surroundings);
            if let Ok(tool) = &mut tool {
                let rows = node.find_text("max_rows");
                tool.row_limit = rows.and_then(|rows| rows.parse().ok());
            }
            adoption.add_tool(tool, place);
        }
    }
}
