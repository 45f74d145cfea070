//! The arguments of a search, within their limits.

use serde::Deserialize;
use serde_json::Number;
use ziggurat_mcp::{Lenient, Property, Reported, Schema};
use ziggurat_search::chunks::Chunker;
use ziggurat_vector_search::Metric;

const DEFAULT_TOP_N: u32 = 10;
const DEFAULT_CHUNK_SIZE_TOKENS: u32 = 100;
const DEFAULT_LAMBDA: f64 = 0.6;
const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 1000;

/// Number of rows that are found by their vectors, of which words then choose the best.
const CANDIDATES: u32 = 50;

/// Limit on the rows that passages are taken from. Their texts are held while they are ranked.
const MAX_TOP_N: u32 = 100;

/// Limit on the length of a passage, in tokens.
const MAX_CHUNK_SIZE_TOKENS: u32 = 10_000;

/// Limit on the length of an answer, in tokens: some hundred kilobytes.
const MAX_OUTPUT_TOKENS: u32 = 100_000;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Arguments {
    query_text: Lenient<String>,
    table_name: Lenient<String>,
    top_n: Lenient<Number>,
    chunk_size_tokens: Lenient<Number>,
    lambda: Lenient<f64>,
    max_output_tokens: Lenient<Number>,
    distance_metric: Lenient<String>,
    output_format: Lenient<String>,
    pub(super) database: Lenient<String>,
}

/// A search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SearchCall {
    pub(super) question: String,
    /// `None` if the call names no table.
    pub(super) table: Option<String>,
    pub(super) rows: u32,
    pub(super) chunk_tokens: u32,
    pub(super) lambda: f64,
    pub(super) output_tokens: u32,
    pub(super) metric: Metric,
    pub(super) format: Format,
}

/// Output format of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Full,
    Summary,
    Ids,
}

// === impl SearchCall ===

impl SearchCall {
    /// Reads the arguments. A question is required; other invalid values become defaults.
    pub(super) fn read(arguments: Arguments) -> Result<Self, Reported> {
        let question = arguments.query_text.0.filter(|text| !text.is_empty());
        let question = Lenient(question).or_report("Missing or invalid 'query_text' argument")?;
        if question.trim().is_empty() {
            return Err(Reported::new("query_text cannot be empty"));
        }
        let metric = arguments.distance_metric.0.unwrap_or_default();
        Ok(Self {
            question,
            // Models send empty names for missing ones.
            table: arguments.table_name.0.filter(|name| !name.is_empty()),
            rows: within(&arguments.top_n, MAX_TOP_N, DEFAULT_TOP_N),
            chunk_tokens: within(
                &arguments.chunk_size_tokens,
                MAX_CHUNK_SIZE_TOKENS,
                DEFAULT_CHUNK_SIZE_TOKENS,
            ),
            lambda: arguments.lambda.0.unwrap_or(DEFAULT_LAMBDA).clamp(0.0, 1.0),
            output_tokens: within(
                &arguments.max_output_tokens,
                MAX_OUTPUT_TOKENS,
                DEFAULT_MAX_OUTPUT_TOKENS,
            ),
            metric: match metric.to_lowercase().as_str() {
                "l2" | "euclidean" => Metric::Euclidean,
                "inner_product" | "inner" => Metric::InnerProduct,
                _ => Metric::Cosine,
            },
            format: match arguments.output_format.0.as_deref() {
                Some("summary") => Format::Summary,
                Some("ids_only") => Format::Ids,
                _ => Format::Full,
            },
        })
    }

    /// Returns the number of rows to find by their vectors.
    pub(super) fn candidates(&self) -> u32 {
        match self.format {
            Format::Ids => self.rows,
            Format::Full | Format::Summary => self.rows.max(CANDIDATES),
        }
    }

    pub(super) fn chunker(&self) -> Chunker {
        Chunker::new(self.chunk_tokens.try_into().unwrap_or(usize::MAX))
    }

    /// Returns the number of passages to choose from for variety: twice as many as fit, and at
    /// least ten.
    pub(super) fn picks(&self) -> usize {
        let fitting = self.output_tokens / self.chunk_tokens;
        fitting
            .saturating_mul(2)
            .max(10)
            .try_into()
            .unwrap_or(usize::MAX)
    }
}

/// Returns a number within its limit; a number below 1 becomes the default, one that is too large
/// the maximum.
fn within(given: &Lenient<Number>, most: u32, default: u32) -> u32 {
    let number = given.0.as_ref().and_then(Number::as_u64);
    match number.filter(|&number| number > 0) {
        Some(number) => u32::try_from(number).unwrap_or(u32::MAX).min(most),
        None => default,
    }
}

pub(super) fn schema() -> Schema {
    let query_text = Property::string("The question, in the words of the user.");
    let table_name = Property::string(
        "The table to search, as table or schema.table; the default schema is public. Optional if \
         only one table has vectors.",
    );
    let top_n = Property::integer("Number of rows to take passages from.")
        .with_default(DEFAULT_TOP_N)
        .with_minimum(1)
        .with_maximum(MAX_TOP_N.into());
    let chunk_size = Property::integer("Maximum length of a passage, in tokens.")
        .with_default(DEFAULT_CHUNK_SIZE_TOKENS)
        .with_minimum(1)
        .with_maximum(MAX_CHUNK_SIZE_TOKENS.into());
    let lambda = Property::number(
        "Relevance against diversity, from 0 to 1: 1 takes the most relevant passages, 0 those \
         that differ most.",
    )
    .with_default(DEFAULT_LAMBDA)
    .with_minimum(0)
    .with_maximum(1);
    let max_output = Property::integer("Maximum length of all passages together, in tokens.")
        .with_default(DEFAULT_MAX_OUTPUT_TOKENS)
        .with_minimum(1)
        .with_maximum(MAX_OUTPUT_TOKENS.into());
    let metric = Property::string(
        "Distance metric: cosine, l2 (or euclidean), inner_product (or inner). An index supports \
         only its own metric.",
    )
    .with_default("cosine");
    let format = Property::string(
        "full returns the passages, summary one line of each, ids_only the ids of rows and their \
         distances.",
    )
    .with_default("full")
    .with_choices(["full", "summary", "ids_only"]);
    Schema::new()
        .with_required("query_text", query_text)
        .with_optional("table_name", table_name)
        .with_optional("top_n", top_n)
        .with_optional("chunk_size_tokens", chunk_size)
        .with_optional("lambda", lambda)
        .with_optional("max_output_tokens", max_output)
        .with_optional("distance_metric", metric)
        .with_optional("output_format", format)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn search_call(more: &Value) -> SearchCall {
        let mut arguments = json!({"query_text": "ferns"});
        for (name, value) in more.as_object().expect("an object") {
            arguments[name] = value.clone();
        }
        let arguments = serde_json::from_str(&arguments.to_string()).expect("arguments");
        SearchCall::read(arguments).expect("a question")
    }

    #[test]
    fn invalid_values_become_defaults() {
        let default = search_call(&json!({}));
        assert_eq!((default.rows, default.chunk_tokens), (10, 100));
        assert_eq!((default.lambda, default.output_tokens), (0.6, 1000));
        assert_eq!(default.metric, Metric::Cosine);
        assert_eq!(default.format, Format::Full);
        for more in [
            json!({"top_n": 0, "chunk_size_tokens": -5, "max_output_tokens": "many"}),
            json!({"top_n": 2.5, "lambda": "much", "distance_metric": "hamming"}),
            json!({"output_format": "FULL", "table_name": "", "distance_metric": 7}),
        ] {
            assert_eq!(search_call(&more), default, "{more}");
        }
    }

    #[test]
    fn values_that_are_too_large_become_the_maximum() {
        let most = json!({"top_n": 1000, "chunk_size_tokens": u64::MAX,
            "max_output_tokens": 5_000_000, "lambda": 7});
        let most = search_call(&most);
        assert_eq!((most.rows, most.chunk_tokens), (100, 10_000));
        assert_eq!((most.lambda, most.output_tokens), (1.0, 100_000));
        assert!(search_call(&json!({"lambda": -1})).lambda.abs() < f64::EPSILON);
    }

    #[test]
    fn words_choose_among_more_rows_than_are_asked_for() {
        assert_eq!(search_call(&json!({})).candidates(), 50);
        assert_eq!(search_call(&json!({"top_n": 80})).candidates(), 80);
        let ids = json!({"output_format": "ids_only"});
        assert_eq!(search_call(&ids).candidates(), 10);
    }

    #[test]
    fn a_metric_has_two_names() {
        for (name, expected) in [
            ("l2", Metric::Euclidean),
            ("Euclidean", Metric::Euclidean),
            ("inner", Metric::InnerProduct),
            ("INNER_PRODUCT", Metric::InnerProduct),
            ("cosine", Metric::Cosine),
        ] {
            assert_eq!(
                search_call(&json!({"distance_metric": name})).metric,
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn twice_as_many_as_fit_are_picked_and_at_least_ten() {
        for (output, chunk, picks) in [
            (1000, 100, 20),
            (1000, 300, 10),
            (50, 100, 10),
            (990, 99, 20),
        ] {
            let search_call =
                search_call(&json!({"max_output_tokens": output, "chunk_size_tokens": chunk}));
            assert_eq!(search_call.picks(), picks, "{output} / {chunk}");
        }
    }
}
