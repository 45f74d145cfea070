//! The pieces of a file, as its rows come.

use std::{io, mem, sync::Arc};

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt as _, stream};
use ziggurat_audit::Verdict;
use ziggurat_calls::limits::Refused;
use ziggurat_postgres::{error::QueryError, large_rows::LargeRowPermit, rows::Rows};

use crate::{
    exports::format::{ExportFormat, RowWriter},
    prepare::RunningStatement,
};

/// Size from which a piece is sent.
const PIECE_BYTES: usize = 64 << 10;

/// Reason for a file that is not whole.
enum Failure {
    Query(QueryError),
    /// A limit of the caller is reached.
    Refused(Refused),
}

/// A file in progress.
struct File {
    running: RunningStatement,
    rows: Rows,
    writer: RowWriter,
    piece: String,
    /// Rows before the piece.
    sent: u64,
    /// The memory of a large row in the piece.
    permit: Option<Arc<LargeRowPermit>>,
    is_over: bool,
}

/// Returns the pieces of a file. An error breaks the response off.
pub(super) fn pieces(
    running: RunningStatement,
    rows: Rows,
    format: ExportFormat,
    is_guarded: bool,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let writer = RowWriter::new(format, is_guarded, rows.columns());
    let mut piece = String::new();
    writer.begin(rows.columns(), &mut piece);
    let file = File {
        running,
        rows,
        writer,
        piece,
        sent: 0,
        permit: None,
        is_over: false,
    };
    stream::try_unfold(file, |mut file| async move {
        if file.is_over {
            return Ok(None);
        }
        let call = file.running.caller.call.clone();
        match call.or_cancelled(file.next()).await {
            Ok(Ok(piece)) => Ok(Some((piece, file))),
            failure => {
                match failure {
                    Ok(Err(Failure::Query(error))) => file.running.fail(&error),
                    Ok(Err(Failure::Refused(refused))) => file.running.refuse(refused),
                    Ok(Ok(_)) | Err(_) => {}
                }
                Err(io::Error::other("the export failed"))
            }
        }
    })
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

// === impl File ===

impl File {
    /// Returns the next piece.
    async fn next(&mut self) -> Result<Bytes, Failure> {
        self.permit = None;
        let (mut rows, left) = (0, self.running.left());
        while self.piece.len() < PIECE_BYTES {
            let Some(row) = self.rows.try_next().await? else {
                self.finish()?;
                break;
            };
            self.writer.write(&row, &mut self.piece)?;
            rows += 1;
            if let Some(refused) = left.exceeded(rows, self.piece.len()) {
                return Err(Failure::Refused(refused));
            }
            self.permit = row.permit().cloned();
            if self.permit.is_some() {
                break;
            }
        }
        self.running.count(rows, self.piece.len());
        self.sent += rows;
        if self.is_over {
            let call = &self.running.caller.call;
            call.set_rows(self.sent);
            call.note(Verdict::Ok);
        }
        let next = String::with_capacity(if self.is_over { 0 } else { PIECE_BYTES });
        Ok(mem::replace(&mut self.piece, next).into())
    }

    /// Ends the file. One that would lack a row that is too large for it is not whole.
    fn finish(&mut self) -> Result<(), Failure> {
        let oversized = self.rows.summary().and_then(|summary| summary.oversized);
        if oversized.is_some() {
            return Err(QueryError::NoRoom.into());
        }
        self.writer.end(&mut self.piece);
        self.is_over = true;
        Ok(())
    }
}
