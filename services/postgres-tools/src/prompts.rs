//! The built-in prompts.
//!
//! They name only tools that are listed, and keep the number of calls small, because each call
//! costs the model tokens.

mod design_schema;
mod diagnose_query_issue;
mod explore_database;
mod setup_semantic_search;
#[cfg(test)]
mod tests;

use ziggurat_mcp::Prompts;

pub use self::{
    design_schema::DesignSchema, diagnose_query_issue::DiagnoseQueryIssue,
    explore_database::ExploreDatabase, setup_semantic_search::SetupSemanticSearch,
};

/// Returns the four built-in prompts.
pub fn built_in() -> Prompts {
    Prompts::new()
        .with(DesignSchema)
        .with(DiagnoseQueryIssue)
        .with(ExploreDatabase)
        .with(SetupSemanticSearch)
}
