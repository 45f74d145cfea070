//! Receipts of calls.

#[cfg(feature = "mcp")]
mod sealing;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ziggurat_audit::Record;
use ziggurat_postgres::call_context::{Evidence, Facts};
use ziggurat_receipts::{
    AuditLine, CallerName, Digest, Payload, Receipt, Receipts, RowFacts, Sent, StatementDigest,
    Wanted, hex, sha256,
};

#[cfg(feature = "mcp")]
pub(crate) use self::sealing::{RECEIPT_KEY, Sealing};
use crate::{Call, Caller};

/// The receipt that a call gets when its statement has run.
#[derive(Debug)]
pub struct CallReceipt {
    receipts: Receipts,
    evidence: Evidence,
    caller: CallerName,
    tool: String,
    /// Digest of the caller's statement, where the request has one.
    statement: Option<Digest>,
    parameters: Option<Digest>,
    /// Names of the arguments that `parameters` leaves out.
    hidden: Vec<String>,
    /// True if the statement is the operator's.
    is_concealed: AtomicBool,
}

// === impl CallReceipt ===

impl CallReceipt {
    /// Prepares the receipt of a call of a tool.
    #[must_use]
    pub fn new(receipts: &Receipts, wanted: Wanted, caller: &Caller<'_>, tool: &str) -> Self {
        Self {
            receipts: receipts.clone(),
            evidence: Evidence::new(wanted.snapshot, wanted.each_row),
            caller: CallerName {
                kind: caller.kind.to_owned(),
                name: caller.name.to_owned(),
            },
            tool: tool.to_owned(),
            statement: None,
            parameters: None,
            hidden: Vec::new(),
            is_concealed: AtomicBool::new(false),
        }
    }

    /// Sets the statement as the caller wrote it.
    #[must_use]
    pub fn with_statement(mut self, text: Option<&str>) -> Self {
        self.statement = text.map(|text| sha256(text.as_bytes()));
        self
    }

    /// Sets the digest of the arguments, without these.
    #[must_use]
    pub fn with_parameters(mut self, parameters: Digest, hidden: Vec<String>) -> Self {
        self.parameters = Some(parameters);
        self.hidden = hidden;
        self
    }

    /// Returns the evidence that the statement of the call has to collect.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Notes that the statement is the operator's.
    pub(crate) fn conceal(&self) {
        self.is_concealed.store(true, Relaxed);
    }

    /// Records the receipt of an answer, and returns the future of its signature; `None` if no
    /// statement ran.
    pub fn close(
        &self,
        sent: Sent,
        call: &Call,
    ) -> Option<impl Future<Output = Option<Receipt>> + Send + 'static + use<>> {
        let payload = self.payload(self.evidence.facts()?, sent, call);
        let encoded = payload.encode();
        if let Some(record) = call.record() {
            record.receipt(&payload.id, &hex(&sha256(&encoded)));
        }
        let receipts = self.receipts.clone();
        Some(async move { receipts.sign(encoded).await })
    }

    fn payload(&self, facts: Facts, sent: Sent, call: &Call) -> Payload {
        let (snapshot, postgresql) = match facts.snapshot {
            Some(it) => (Some((it.snapshot, it.lsn)), Some(it.version)),
            None => (None, None),
        };
        let (snapshot, lsn) = snapshot.unzip();
        let statement = match self.statement {
            Some(statement) => StatementDigest::Sha256(hex(&statement)),
            None if self.is_concealed.load(Relaxed) => self.receipts.mark(&facts.text),
            None => StatementDigest::Sha256(hex(&facts.text)),
        };
        let (xid, diff) = facts.change.unzip();
        let open = call.record().and_then(Record::open_line);
        Payload {
            at: format!("{:.3}", Timestamp::now()),
            caller: self.caller.clone(),
            identity: facts.identity,
            tool: self.tool.clone(),
            database: facts.database,
            statement,
            parameters: self.parameters.map(|digest| hex(&digest)),
            hidden: self.hidden.clone(),
            limit: facts.limit.into(),
            offset: facts.offset,
            snapshot,
            lsn,
            xid: xid.map(|xid| xid.to_string()),
            diff,
            sent,
            rows: RowFacts {
                count: facts.rows,
                truncated: facts.is_truncated,
                sha256: hex(&facts.digest),
                each: facts.each.map(|each| BASE64_URL_SAFE_NO_PAD.encode(each)),
            },
            masked: facts.is_masked,
            audit: open.map(|(seq, chain)| AuditLine { seq, chain }),
            ..self.receipts.payload(postgresql)
        }
    }
}
