//! The receipt in the result of a tool.

use std::{future::ready, sync::Arc};

use serde_json::Value;
use ziggurat_mcp::{ResultSeal, SealedMember};
use ziggurat_receipts::{EscapedText, Sent, canonical, hex, text_digest};

use crate::{Call, CallReceipt};

/// Member of `_meta` with the receipt.
pub(crate) const RECEIPT_KEY: &str = "ziggurat/receipt";

/// Makes the receipt of a result while it is sent.
#[derive(Debug)]
pub(crate) struct Sealing {
    receipt: Arc<CallReceipt>,
    call: Call,
    text: EscapedText,
    sent: Sent,
}

// === impl Sealing ===

impl Sealing {
    /// Begins the receipt of a call; `None` if no statement has run.
    pub(crate) fn begin(receipt: &Arc<CallReceipt>, call: &Call) -> Option<Self> {
        receipt.evidence().has_begun().then(|| Self {
            receipt: Arc::clone(receipt),
            call: call.clone(),
            text: EscapedText::default(),
            sent: Sent::default(),
        })
    }
}

impl ResultSeal for Sealing {
    fn text(&mut self, escaped: &[u8]) {
        self.text.push(escaped);
    }

    fn content(&mut self, json: &[u8]) {
        let content: Value = serde_json::from_slice(json).unwrap_or_default();
        self.sent.text = Some(hex(&text_digest(&content)));
    }

    fn structure(&mut self, json: &[u8]) {
        let structure: Value = serde_json::from_slice(json).unwrap_or_default();
        self.sent.structured = Some(hex(&canonical(&structure)));
    }

    fn close(self: Box<Self>) -> SealedMember {
        let Self {
            receipt,
            call,
            text,
            mut sent,
        } = *self;
        sent.text.get_or_insert_with(|| hex(&text.finish()));
        let Some(signed) = receipt.close(sent, &call) else {
            return Box::pin(ready(None));
        };
        Box::pin(async move {
            let json = serde_json::to_string(&signed.await?).ok()?;
            Some((RECEIPT_KEY, json))
        })
    }
}
