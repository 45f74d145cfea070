//! Statements that are approved by what they change.

use ziggurat_answers::{
    checked::{self, Checked, CheckedWrite, NotWritten, WriteTexts},
    client,
};
use ziggurat_databases::{Current, Databases};
use ziggurat_mcp::{Error, ToolDescriptor, ToolRequest, ToolResult};
use ziggurat_postgres::{database::PreviewMode, statement::Statement};

use crate::query_database::{
    answer::{MIN_ROW_LIMIT, Request, UNCONFIRMED},
    confirm,
};

/// Statement of a call, and its database.
#[derive(Clone, Copy)]
pub(super) struct RunOf<'a> {
    pub(super) current: &'a Current,
    pub(super) query: &'a str,
    pub(super) approve: Option<&'a str>,
    pub(super) request: &'a ToolRequest,
}

/// Statement that is checked before it writes.
pub(super) struct CheckedStatement<'a> {
    run: RunOf<'a>,
    statement: Statement,
    mode: PreviewMode,
}

/// Continuation of a call.
pub(super) enum Next {
    /// It ends with this.
    Answer(ToolResult),
    /// The statement runs as without checks.
    // Boxed: it is large.
    Run(Box<Request>),
}

// === impl RunOf ===

impl<'a> RunOf<'a> {
    /// Returns the checks of a statement, if there are previews for the call.
    pub(super) fn checked(
        self,
        statement: &Statement,
        max_bytes: usize,
    ) -> Option<CheckedStatement<'a>> {
        let mode = checked::mode_for(self.request, self.current)?;
        let statement = statement.clone();
        Some(CheckedStatement {
            run: self,
            statement: statement.with_max_row_bytes(max_bytes.max(MIN_ROW_LIMIT)),
            mode,
        })
    }
}

// === impl CheckedStatement ===

impl CheckedStatement<'_> {
    /// Returns whether the statement looks like one that reads, and nothing was approved yet.
    pub(super) fn reads_first(&self) -> bool {
        let RunOf {
            approve, request, ..
        } = self.run;
        self.statement.only_reads()
            && approve.is_none()
            && request.inputs().state().is_none()
            && !checked::wants_preview(request)
    }

    /// Runs the statement as far as it is approved.
    pub(super) async fn run(&self, plan: Request) -> Result<Next, Error> {
        let RunOf {
            current,
            query,
            approve,
            request,
        } = self.run;
        let write = CheckedWrite {
            current,
            request,
            statement: &self.statement,
            texts: WriteTexts {
                subject: "This statement".to_owned(),
                content: confirm::indented(query),
                question: confirm::confirmation(current, query),
            },
            values: String::new(),
            approve,
            mode: self.mode,
        };
        match write.run().await {
            Ok(Checked::Answer(answer)) => Ok(Next::Answer(answer)),
            Ok(Checked::Committed(rows)) => {
                let answer = plan.read(rows, self.statement.is_setting()).await?;
                let answer = answer.ok_or_else(|| Error::said(UNCONFIRMED))?;
                Ok(Next::Answer(answer))
            }
            Ok(Checked::Unchecked) => Ok(Next::Run(Box::new(plan))),
            Err(NotWritten::Failed(error)) => Err(plan.complaint(&error).await.into()),
            Err(NotWritten::Refused(error)) => Err(error),
        }
    }
}

/// Adds the argument `approve` to a tool, if a client may approve changes for itself.
pub(super) fn with_approval(databases: &Databases, tool: ToolDescriptor) -> ToolDescriptor {
    let visible = databases.visible(None);
    let is_needed = visible
        .iter()
        .any(|seen| checked::takes_approval(seen.database()));
    if is_needed {
        client::with_approval(tool)
    } else {
        tool
    }
}
