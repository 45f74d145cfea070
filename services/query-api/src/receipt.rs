//! Receipts of responses.

use serde_json::Value;
use ziggurat_calls::{CallReceipt, Caller};
use ziggurat_http::{ErrorAndCode, Payload};
use ziggurat_receipts::{Sent, Sha, body_digest, hex, lines_digest};

use crate::{QueryApi, prepare::ACTION, request::QueryCaller};

/// The receipt of a response while it is sent.
#[derive(Debug)]
pub(crate) struct LinesReceipt {
    receipt: CallReceipt,
    /// Digest of the lines so far.
    lines: Sha,
}

// === impl QueryApi ===

impl QueryApi {
    /// Returns the receipt that a request asks for, if the server has receipts.
    pub(crate) fn receipt(
        &self,
        asked: Option<&Value>,
        payload: &Payload<ErrorAndCode>,
        caller: &QueryCaller,
    ) -> Option<Box<LinesReceipt>> {
        let receipts = self.receipts.as_ref()?;
        let wanted = receipts.asked(Some(&asked?.to_string()))?;
        let body: Value = payload.object().ok()?;
        let who = Caller::new(caller.identity.as_ref());
        let receipt = CallReceipt::new(receipts, wanted, &who, ACTION);
        let receipt = receipt.with_statement(body["sql"].as_str());
        if let Some(record) = caller.call.record() {
            record.keep_open_line();
        }
        Some(Box::new(LinesReceipt {
            receipt: receipt.with_parameters(body_digest(body), Vec::new()),
            lines: Sha::default(),
        }))
    }
}

// === impl LinesReceipt ===

impl LinesReceipt {
    /// Returns the receipt, for the evidence of the statement.
    pub(crate) fn receipt(&self) -> &CallReceipt {
        &self.receipt
    }

    /// Takes lines as they are sent.
    pub(crate) fn add(&mut self, lines: &[u8]) {
        self.lines.update(lines);
    }

    /// Adds the receipt to the contents of the last line.
    pub(crate) async fn close(self, done: &mut Value, caller: &QueryCaller) {
        let lines = lines_digest(self.lines, done);
        let sent = Sent {
            lines: Some(hex(&lines)),
            ..Sent::default()
        };
        if let Some(signed) = self.receipt.close(sent, &caller.call)
            && let Some(receipt) = signed.await
        {
            done["receipt"] = serde_json::to_value(receipt).unwrap_or_default();
        }
    }
}
