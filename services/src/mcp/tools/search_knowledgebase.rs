//! `search_knowledgebase`: what the documentation at hand says.

use crate::mcp::{
    Property, Reported, Schema, Tool, ToolDescriptor, ToolError, ToolRequest, ToolResult,
};

/// How many passages one answer holds unless it is told otherwise, and at most.
const DEFAULT_TOP_N: i64 = 5;
const MAX_TOP_N: i64 = 20;

/// Searches the documentation at hand for its caller, if there is any.
#[derive(Clone, Debug)]
pub struct SearchKnowledgebase {
    absence: &'static str,
}

// === impl SearchKnowledgebase ===

impl SearchKnowledgebase {
    /// Says that there is no documentation.
    #[must_use]
    pub fn unconfigured() -> Self {
        Self {
            absence: "Knowledgebase search is not configured",
        }
    }

    /// Says that there is some, and that this build cannot read it.
    #[must_use]
    pub fn unserved() -> Self {
        Self {
            absence: "Knowledgebase search failed: it is configured, but this build of the \
                      server does not serve it yet",
        }
    }
}

impl Tool for SearchKnowledgebase {
    fn describe(&self) -> ToolDescriptor {
        let query = Property::string("What to look for, in words; needed unless list_products.");
        let names = Property::strings("Only passages about these products.");
        let versions = Property::strings("Only passages about these versions.");
        let top_n = Property::integer("How many passages to return.")
            .with_default(DEFAULT_TOP_N)
            .with_minimum(1)
            .with_maximum(MAX_TOP_N);
        let list = Property::boolean("List the products and versions there are instead.");
        ToolDescriptor::new(
            "search_knowledgebase",
            "Searches the documentation the server has at hand by meaning, and returns the \
             passages that come closest. List the products first to know what can be asked about.",
            Schema::new()
                .with_optional("query", query)
                .with_optional("project_names", names)
                .with_optional("project_versions", versions)
                .with_optional("top_n", top_n)
                .with_optional("list_products", list.with_default(false)),
        )
        .unlisted()
    }

    async fn call(&self, _: ToolRequest) -> Result<ToolResult, ToolError> {
        Err(Reported::new(self.absence).into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::tools::bench;

    #[tokio::test]
    async fn whatever_is_asked_the_answer_is_that_there_is_nothing() {
        for arguments in [
            json!({}),
            json!({"query": "window functions"}),
            json!({"list_products": true}),
        ] {
            let tool = SearchKnowledgebase::unconfigured();
            let (text, failed) = bench::call(tool, arguments).await;
            assert_eq!(text, "Knowledgebase search is not configured");
            assert!(failed);
        }
    }

    #[tokio::test]
    async fn what_is_configured_is_not_called_unconfigured() {
        let arguments = json!({"query": "window functions"});
        let (text, failed) = bench::call(SearchKnowledgebase::unserved(), arguments).await;
        assert!(text.contains("does not serve it yet"), "{text}");
        assert!(!text.contains("not configured"), "{text}");
        assert!(failed);
    }

    #[test]
    fn it_is_not_listed() {
        let descriptor = SearchKnowledgebase::unconfigured().describe();
        assert!(!descriptor.is_advertised);
    }
}
