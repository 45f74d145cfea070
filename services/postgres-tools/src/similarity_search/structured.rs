//! The structured answer.

use serde::Serialize;
use ziggurat_mcp::{Property, Schema, Structure};
use ziggurat_vector_search::Neighbour;

use crate::similarity_search::{answer::Answer, passages::Passage};

/// Passages, or the ids of rows.
#[derive(Serialize)]
struct StructuredAnswer<'a> {
    database: &'a str,
    table: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<StructuredRow<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passages: Option<Vec<StructuredPassage<'a>>>,
}

#[derive(Serialize)]
struct StructuredRow<'a> {
    rank: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<f64>,
}

#[derive(Serialize)]
struct StructuredPassage<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    column: &'a str,
    rank: usize,
    chunk: usize,
    score: f64,
    tokens: usize,
    text: String,
}

pub(super) fn schema() -> Schema {
    let rank = || Property::integer("The rank of the row by its vector.").with_minimum(1);
    let row = Schema::new()
        .with_required("rank", rank())
        .with_optional("id", Property::string("The id of the row, if it has one."))
        .with_optional(
            "distance",
            Property::number("The distance to the question, if it is known."),
        );
    let passage = Schema::new()
        .with_optional("id", Property::string("The id of the row, if it has one."))
        .with_required("column", Property::string("The column of the passage."))
        .with_required("rank", rank())
        .with_required(
            "chunk",
            Property::integer("The number of the passage in the text.").with_minimum(1),
        )
        .with_required(
            "score",
            Property::number("The relevance by vector and words, from 0 to 1."),
        )
        .with_required(
            "tokens",
            Property::integer("The estimated number of tokens of the passage.").with_minimum(0),
        )
        .with_required("text", Property::string("The passage, or its beginning."));
    Schema::new()
        .with_required(
            "database",
            Property::string("The database that was searched."),
        )
        .with_required("table", Property::string("The table that was searched."))
        .with_optional(
            "rows",
            Property::objects("The closest rows, if output_format is ids_only.", row),
        )
        .with_optional(
            "passages",
            Property::objects("The best passages, best first.", passage),
        )
}

/// Makes the structure for the ids of rows.
pub(super) fn rows(answer: &Answer<'_>, rows: &[Neighbour]) -> Structure {
    let rows = (1..).zip(rows).map(|(rank, row)| StructuredRow {
        rank,
        id: row.id.as_deref(),
        // JSON cannot represent NaN and infinity.
        distance: row.distance.filter(|distance| distance.is_finite()),
    });
    write(answer, Some(rows.collect()), None)
}

/// Makes the structure for passages, or for the beginning of each.
pub(super) fn passages(answer: &Answer<'_>, passages: &[Passage]) -> Structure {
    let passages = passages.iter().map(|passage| StructuredPassage {
        id: passage.id.as_deref(),
        column: answer.place.texts[passage.column].name(),
        rank: passage.row + 1,
        chunk: passage.index + 1,
        score: passage.score,
        tokens: passage.tokens,
        text: answer.shown(passage),
    });
    write(answer, None, Some(passages.collect()))
}

fn write(
    answer: &Answer<'_>,
    rows: Option<Vec<StructuredRow<'_>>>,
    passages: Option<Vec<StructuredPassage<'_>>>,
) -> Structure {
    let found = StructuredAnswer {
        database: answer.label,
        table: answer.place.name(),
        rows,
        passages,
    };
    Structure::new(&found).expect("texts and numbers are JSON")
}
