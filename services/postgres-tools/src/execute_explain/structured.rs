//! The structured answer.

use serde::Serialize;
use ziggurat_mcp::{Property, Schema, Structure};

use super::findings::Findings;

/// A plan and its findings.
#[derive(Serialize)]
pub(super) struct Explained<'a> {
    pub(super) database: &'a str,
    pub(super) query: &'a str,
    pub(super) plan: &'a str,
    #[serde(flatten)]
    pub(super) findings: &'a Findings,
}

// === impl Explained ===

impl Explained<'_> {
    pub(super) fn schema() -> Schema {
        let plan = Property::string("The plan, as PostgreSQL writes it: as text or as JSON.");
        let issues = Property::strings("The findings about slow steps; empty for a plan in JSON.");
        Schema::new()
            .with_required("database", Property::string("The database of the plan."))
            .with_required("query", Property::string("The query."))
            .with_required("plan", plan)
            .with_required("issues", issues)
            .with_required(
                "recommendations",
                Property::strings("The advice for each finding."),
            )
    }

    pub(super) fn structure(&self) -> Structure {
        Structure::new(self).expect("texts are JSON")
    }
}
