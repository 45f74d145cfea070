//! Values of a row.

use serde::Serialize;
use ziggurat_answers::write_scalar;
use ziggurat_postgres::{error::QueryError, rows::ResultRow, scalar::Scalar};
use ziggurat_text::Text;

/// Maximum number of bytes of a value; of a longer one its beginning is sent.
pub(crate) const MAX_CELL: usize = 64 << 10;

/// Beginning of a value that is too long.
#[derive(Serialize)]
struct Cut<'a> {
    cut: &'a str,
    bytes: usize,
}

/// Writes a row as a JSON array.
pub(crate) fn write_row(json: &mut Text, row: &ResultRow) -> Result<(), QueryError> {
    json.push_json("[");
    for (index, value) in row.scalars().enumerate() {
        if index > 0 {
            json.push_json(",");
        }
        write_cell(json, value?)?;
    }
    json.push_json("]");
    Ok(())
}

fn write_cell(json: &mut Text, value: Scalar<'_>) -> Result<(), QueryError> {
    match value {
        Scalar::Text(text) if text.len() > MAX_CELL => {
            let cut = &text[..text.floor_char_boundary(MAX_CELL)];
            let bytes = text.len();
            let cell = serde_json::to_string(&Cut { cut, bytes });
            json.push_json(&cell.map_err(QueryError::value)?);
        }
        value => write_scalar(json, value),
    }
    Ok(())
}
