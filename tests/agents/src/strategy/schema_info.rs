//! Calls of `get_schema_info`: everything, then single schemas, beginning with the best fit for the
//! question by names and tables.

use serde_json::json;

use super::words;
use crate::conversation::{Conversation, MAX_CALLS};

const TOOL: &str = "get_schema_info";

/// Makes the calls for a question.
pub(super) async fn ask(conversation: &mut Conversation<'_>, question: &str) -> anyhow::Result<()> {
    let answer = conversation.call(TOOL, &json!({})).await?;
    let question = words::of(question);
    // A summary has a paragraph for each schema: its name, then examples of its tables.
    let mut schemas: Vec<(usize, String)> = Vec::new();
    for line in answer.lines() {
        if let Some((name, rest)) = line
            .strip_prefix("Schema '")
            .and_then(|line| line.split_once('\''))
        {
            schemas.push((words::in_common(&question, rest), name.to_owned()));
            if let Some((common, name)) = schemas.last_mut() {
                *common += words::in_common(&question, name);
            }
        } else if let Some((common, _)) = schemas.last_mut() {
            *common += words::in_common(&question, line);
        }
    }
    // The first of the best ones, since the sort keeps their order.
    schemas.sort_by_key(|(common, _)| usize::MAX - common);
    for (_, schema) in schemas.iter().take(MAX_CALLS - 1) {
        conversation
            .call(TOOL, &json!({"schema_name": schema}))
            .await?;
    }
    Ok(())
}
