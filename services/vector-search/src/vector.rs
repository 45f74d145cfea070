//! Vectors in SQL, the way pgvector reads them.

use std::fmt::Write as _;

/// The types of pgvector.
const TYPES: [&str; 3] = ["vector", "halfvec", "sparsevec"];

/// Splits a type of pgvector, as `format_type` writes it, into its schema, if it is qualified, and
/// its name. Returns `None` for any other type, also for a domain over one.
pub(crate) fn pgvector_type(data_type: &str) -> Option<(Option<&str>, &str)> {
    let (name, _) = data_type.rsplit_once('(').unwrap_or((data_type, ""));
    let (schema, name) = match name.rsplit_once('.') {
        Some((schema, name)) => (Some(schema), name),
        None => (None, name),
    };
    TYPES.contains(&name).then_some((schema, name))
}

/// Returns the SQL of the distance between a column and a vector, by an operator of pgvector in
/// whichever schema it is installed.
pub(crate) fn distance(column: &str, data_type: &str, operator: &str, asked: &[f32]) -> String {
    let literal = literal(asked, data_type);
    match pgvector_type(data_type) {
        Some((Some(schema), _)) => format!("{column} OPERATOR({schema}.{operator}) {literal}"),
        _ => format!("{column} {operator} {literal}"),
    }
}

/// Writes a vector as a constant without a type. It takes the type of the column it is compared
/// with, so a domain, or a type that is not on the search path, needs no name.
fn literal(vector: &[f32], data_type: &str) -> String {
    let mut text = String::with_capacity(vector.len() * 13 + 16);
    if let Some((_, "sparsevec")) = pgvector_type(data_type) {
        text.push_str("'{");
        let places = vector.iter().zip(1_usize..);
        for (value, place) in places.filter(|(value, _)| **value != 0.0) {
            let comma = if text.len() > 2 { "," } else { "" };
            write!(text, "{comma}{place}:{value:e}").expect("a string takes everything");
        }
        write!(text, "}}/{}'", vector.len()).expect("a string takes everything");
    } else {
        text.push('\'');
        write_dense(vector, &mut text);
        text.push('\'');
    }
    text
}

/// Returns a vector as the text that pgvector reads as `vector` and `halfvec`.
///
/// ```
/// assert_eq!(ziggurat_vector_search::vector_text(&[1.0, -0.25]), "[1e0,-2.5e-1]");
/// ```
#[must_use]
pub fn vector_text(vector: &[f32]) -> String {
    let mut text = String::with_capacity(vector.len() * 13 + 2);
    write_dense(vector, &mut text);
    text
}

/// Writes each number as the shortest text that parses as the same 32-bit float.
fn write_dense(vector: &[f32], text: &mut String) {
    text.push('[');
    for (at, value) in vector.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(text, "{comma}{value:e}").expect("a string takes everything");
    }
    text.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_so_that_they_are_read_as_the_same() {
        let vector = [0.1, -1.0 / 3.0, 1e-38, 0.0, 16_777_216.0];
        let text = literal(&vector, "vector(5)");
        let numbers = text.trim_start_matches("'[").trim_end_matches("]'");
        let read: Vec<f32> = numbers
            .split(',')
            .map(|number| number.parse().expect(number))
            .collect();
        assert_eq!(read, vector);
    }

    #[test]
    fn a_sparse_vector_is_written_without_its_zeros() {
        let cases: [(&[f32], &str, &str); 4] = [
            (
                &[0.0, 2.5, 0.0, -1.0],
                "sparsevec(4)",
                "'{2:2.5e0,4:-1e0}/4'",
            ),
            (&[0.0], "x.sparsevec", "'{}/1'"),
            (&[0.0, 1.0], "halfvec(2)", "'[0e0,1e0]'"),
            (&[], "vector", "'[]'"),
        ];
        for (vector, data_type, expected) in cases {
            assert_eq!(literal(vector, data_type), expected, "{data_type}");
        }
    }

    #[test]
    fn the_schema_of_a_type_is_distinguished_from_that_of_a_domain() {
        let cases = [
            ("vector(3)", Some((None, "vector"))),
            ("halfvec", Some((None, "halfvec"))),
            ("\"my ext\".vector(3)", Some((Some("\"my ext\""), "vector"))),
            ("shop.meaning", None),
            ("meaning", None),
        ];
        for (data_type, expected) in cases {
            assert_eq!(pgvector_type(data_type), expected, "{data_type}");
        }
    }
}
