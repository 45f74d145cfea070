//! Calls that are approved by what they change.

use ziggurat_answers::checked::{self, Checked, CheckedWrite, NotWritten};
use ziggurat_databases::{Configured, Databases};
use ziggurat_mcp::{Error, ToolResult};
use ziggurat_postgres::{database::PreviewMode, error::QueryError};

use crate::{
    definition::Definition,
    input_schema::APPROVE,
    kind::Checked as Value,
    tool::{SqlTool, ToolCall, confirmation},
};

/// Continuation of a call.
pub(super) enum Next {
    /// It ends with this.
    Answer(ToolResult),
    /// The statement runs as without checks.
    Run,
}

impl SqlTool {
    /// Returns the use of previews for a call, if the tool writes and there are previews for it.
    pub(super) fn mode(&self, call: &ToolCall<'_>) -> Option<PreviewMode> {
        let write = self.definition.write?;
        call.current.database().previews()?;
        if write.always_confirms {
            return Some(PreviewMode::Require);
        }
        checked::mode_for(call.request, call.current)
    }

    /// Runs a call as far as it is approved.
    pub(super) async fn check(
        &self,
        call: &ToolCall<'_>,
        (text, values): (&str, &[Option<Value>]),
        approve: Option<&str>,
        mode: PreviewMode,
    ) -> Result<Next, Error> {
        let failed = |error: QueryError| self.error(call, error.into());
        let statement = self.statement(call, text, values.to_vec());
        let statement = statement.map_err(failed)?;
        let texts = confirmation::texts(&self.definition, call.current, text, values);
        let write = CheckedWrite {
            current: call.current,
            request: call.request,
            statement: &statement,
            values: texts.question.state.clone(),
            texts,
            approve,
            mode,
        };
        match write.run().await {
            Ok(Checked::Answer(answer)) => Ok(Next::Answer(answer)),
            Ok(Checked::Committed(rows)) => {
                let answer = self.writer(call).read(rows).await;
                answer
                    .map(Next::Answer)
                    .map_err(|error| self.error(call, error))
            }
            Ok(Checked::Unchecked) => Ok(Next::Run),
            Err(NotWritten::Failed(error)) => Err(failed(error)),
            Err(NotWritten::Refused(error)) => Err(error),
        }
    }
}

/// Returns whether a client may approve calls of a tool for itself, by the argument `approve`.
pub(super) fn takes_approval(definition: &Definition, databases: &Databases) -> bool {
    let name = definition.database.as_deref();
    let visible = databases.visible(None);
    let mut its = visible
        .iter()
        .map(Configured::database)
        .filter(|database| name.is_none_or(|name| name == database.name()));
    definition.write.is_some()
        && !definition.parameters.iter().any(|it| it.name == APPROVE)
        && its.any(|database| checked::takes_approval(database))
}
