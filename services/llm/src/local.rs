//! What needs no provider: for the demonstration, for tests, and for trying things out.

mod embedding;

pub use self::embedding::DIMENSIONS;
pub(super) use self::embedding::embed;

/// What it is called where others have the name of a provider.
pub(super) const NAME: &str = "local";

/// What it is called where others have the name of a model.
pub(super) const MODEL: &str = "hashed-features-256";
