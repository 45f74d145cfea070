//! `diagnose-query-issue`: finds the cause of a problem with a query.

use ziggurat_mcp::{
    PromptArgument, PromptArguments, PromptDescriptor, PromptHandler, Rendered, Template,
};

const ISSUE: &str = "issue_description";
const DEFAULT_ISSUE: &str = "query not working as expected";

const TEXT: &str = "\
Something is wrong with a query. Find the cause before you suggest a fix.

The issue: {{issue_description}}

Take these steps in order, and stop as soon as one of them explains the issue.

1. Connection. Call read_resource with the uri pg://system_info. It tells which database and \
server answer, as which user, and whether writes are allowed. A query that is right but sent to \
the wrong database looks exactly like a query that is wrong.
2. Schema. Call get_schema_info with compact set to true and check that every schema and table \
the query names exists, spelled that way. Names in double quotes keep their capitals, all others \
are folded to lower case.
3. Structure. Call get_schema_info with schema_name and table_name for the tables involved, and \
compare column names, types, nullability and keys with what the query assumes.
4. Rows. Run query_database with a limit of 5 on the table in question. Compare what is there \
with what the conditions expect: case, surrounding blanks, time zones, NULL.
5. Go through the usual causes:
   - a missing relation: another schema, another database, or a name that needs quotes;
   - permission denied: the role lacks USAGE on the schema or SELECT on the table;
   - refused in a read-only transaction: the statement writes, and this database does not allow \
it;
   - a timeout: no index for the condition, or a join that multiplies rows;
   - no rows: an inner join that should be an outer one, = NULL instead of IS NULL, NOT IN over \
a list that holds a NULL;
   - too many rows: a join condition that is missing or not unique;
   - missing rows at the end: the row limit of the tool; use limit and offset;
   - wrong totals: an aggregate taken after a join that repeats rows;
   - a search by meaning that fails: no vector column, no embedding provider, or other dimensions \
than the column has.
6. Report: the cause, the evidence for it from the steps above, a corrected query, and what to \
change in the database if the query is not at fault. Run the corrected query if it only reads. \
If the cause is still open, say what you have ruled out and what you would need to know.
";

/// Guides a model through the diagnosis of a query that fails or returns unexpected rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiagnoseQueryIssue;

// === impl DiagnoseQueryIssue ===

impl PromptHandler for DiagnoseQueryIssue {
    fn describe(&self) -> PromptDescriptor {
        let issue = PromptArgument::optional(
            ISSUE,
            "The problem: the query, the error message, or the expected result.",
        );
        PromptDescriptor::new(
            "diagnose-query-issue",
            "Finds out why a query fails or returns the wrong rows, step by step, and proposes a \
             fix.",
        )
        .with_title("Diagnose a query")
        .with_argument(issue)
    }

    fn render(&self, arguments: &PromptArguments) -> Rendered {
        let issue = arguments.text(ISSUE).unwrap_or(DEFAULT_ISSUE);
        let text = Template::new(TEXT).fill(|name| (name == ISSUE).then_some(issue));
        Rendered::new(format!("Diagnosing issue: {issue}")).with_user_text(text)
    }
}
