//! Settings of the search of a pipeline.

use std::ops::RangeInclusive;

use thiserror::Error;
use ziggurat_llm::ModelSource;
use ziggurat_rag_service::retrieval::{Fusion, Method, SearchOptions};
use ziggurat_runtime::config::Section;

/// Limit on the passages that each search returns: the limit of an index of pgvector.
const MAX_CANDIDATES: u32 = 1000;

/// Limit on the neighbours of a passage, on each side.
const MAX_EXPAND: u32 = 5;

/// Limit on the constant of reciprocal rank fusion.
const MAX_K: u32 = 1000;

/// Number of rows that an HNSW index examines: at least the default of pgvector, at most its limit.
const EF_SEARCH: RangeInclusive<u32> = 40..=1000;

/// Default weight of weak vectors: vectors without meaning, which provider `local` makes, and means
/// of word vectors. `benches/rag/collections` measures it.
const WEAK_WEIGHT: f64 = 0.2;

/// Method of fusion, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MethodName {
    ReciprocalRank,
    WeightedSum,
}

#[derive(Debug, Error)]
#[error("must be one of: rrf, weighted")]
struct UnknownMethod;

/// Reads the section `search`. Without a configured weight, weak vectors count less than the
/// vectors of a provider.
pub(super) fn read(file: &Section<'_>, maker: Option<ModelSource>) -> SearchOptions {
    let default = SearchOptions::default();
    let scanned = file.key("bm25_max_documents").whole(1..=i64::MAX);
    let candidates = file.key("candidates").whole(1..=MAX_CANDIDATES);
    SearchOptions {
        hybrid: file.key("hybrid_enabled").boolean().unwrap_or(true),
        operators: file.key("operators").boolean().unwrap_or(false),
        fusion: fusion(file, maker),
        candidates: candidates.unwrap_or(default.candidates),
        expand: file.key("expand").whole(0..=MAX_EXPAND).unwrap_or_default(),
        compounds: file.key("compounds").boolean(),
        diversity: file.key("diversity").decimal(0.0..=1.0).unwrap_or(0.0),
        min_similarity: file.key("min_similarity").decimal(0.0..=1.0),
        ef_search: file.key("ef_search").whole(EF_SEARCH),
        max_scanned: scanned.map_or(default.max_scanned, |number| {
            u32::try_from(number).unwrap_or(u32::MAX)
        }),
    }
}

fn fusion(file: &Section<'_>, maker: Option<ModelSource>) -> Fusion {
    let section = file.section("fusion");
    let k = section.key("k").whole(1..=MAX_K);
    let method = match section.key("method").parsed(MethodName::parse) {
        Some(MethodName::WeightedSum) => {
            section
                .key("k")
                .check(k.is_none(), "has no effect on the method weighted");
            Method::WeightedSum
        }
        name => match (name, k) {
            (_, Some(k)) => Method::ReciprocalRank(k.into()),
            (Some(MethodName::ReciprocalRank), None) => Method::RECIPROCAL_RANK,
            _ => Method::default(),
        },
    };
    let (weight, share) = (
        file.key("vector_weight").decimal(0.0..=1.0),
        share(&section),
    );
    section.key("vector").check(
        weight.is_none() || share.is_none(),
        "vector_weight is set too: set only one of the two",
    );
    let usual = match maker {
        Some(ModelSource::Local | ModelSource::Static) => WEAK_WEIGHT,
        _ => method.vector_weight(),
    };
    Fusion {
        method,
        vector_weight: share.or(weight).unwrap_or(usual),
    }
}

/// Returns the weight of the vector search, as a share of both weights.
fn share(section: &Section<'_>) -> Option<f64> {
    let weight = |key: &str| section.key(key).decimal(0.0..=1.0);
    match (weight("vector"), weight("keyword")) {
        (None, None) => None,
        (Some(vector), None) => Some(vector),
        (None, Some(keyword)) => Some(1.0 - keyword),
        (Some(vector), Some(keyword)) => {
            let sum = vector + keyword;
            section
                .key("keyword")
                .check(sum > 0.0, "must not be 0 if vector is 0");
            (sum > 0.0).then(|| vector / sum)
        }
    }
}

// === impl MethodName ===

impl MethodName {
    fn parse(name: &str) -> Result<Self, UnknownMethod> {
        match name {
            "rrf" => Ok(Self::ReciprocalRank),
            "weighted" => Ok(Self::WeightedSum),
            _ => Err(UnknownMethod),
        }
    }
}
