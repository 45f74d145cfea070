//! Embeddings without a provider, for demos and tests.

mod embedding;

pub use self::embedding::DIMENSIONS;
pub(super) use self::embedding::embed;

/// Name in place of the name of a provider.
pub(super) const NAME: &str = "local";

/// Name in place of the name of a model.
pub(super) const MODEL: &str = "hashed-features-256";
