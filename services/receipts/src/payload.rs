//! The signed part of a receipt.

use serde::{Deserialize, Serialize};

/// The signed part of a receipt. Digests are SHA-256 in hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// 16 random digits.
    pub id: String,
    /// Time of the answer.
    pub at: String,
    /// Public address of the server, or the id of its process.
    pub server: String,
    /// Versions of the programs.
    pub version: Versions,
    /// The caller.
    pub caller: CallerName,
    /// Mark of the role and the settings under which the statement ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Name of the tool, or method and path of the request.
    pub tool: String,
    /// Name of the database.
    pub database: String,
    /// The statement.
    pub statement: StatementDigest,
    /// The arguments without secret ones, in their canonical form (RFC 8785).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
    /// Names of the arguments that are not in that digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// Limit on the number of rows.
    pub limit: u64,
    /// Number of rows that were skipped.
    pub offset: u64,
    /// `pg_current_snapshot()` of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// End of the write-ahead log; on a standby, of its replayed part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lsn: Option<String>,
    /// Transaction of a checked write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xid: Option<String>,
    /// Mark of the changes of a checked write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The answer as it was sent.
    pub sent: Sent,
    /// The rows of the answer.
    pub rows: RowFacts,
    /// True if a mask held.
    pub masked: bool,
    /// The `open` line of the audit trail, where records are required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditLine>,
}

/// Versions of the programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// Version of this program.
    pub ziggurat: String,
    /// Version of PostgreSQL, known with a snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgresql: Option<String>,
}

/// A caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallerName {
    /// The kind, such as `user`.
    pub kind: String,
    /// The name within its kind.
    pub name: String,
}

/// The statement of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatementDigest {
    /// SHA-256 of its text.
    Sha256(String),
    /// HMAC of the text of an operator's tool, which callers do not see.
    Hmac(String),
}

/// Digests of an answer as it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The text of a tool's result; of a result with several parts, its `content` in the canonical
    /// form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `structuredContent` in its canonical form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<String>,
    /// The lines of `/api/query` up to the last one, which holds the receipt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<String>,
}

/// Facts about the rows of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowFacts {
    /// Their number.
    pub count: u64,
    /// True if there are more.
    pub truncated: bool,
    /// Digest of the digests of the rows, in their order.
    pub sha256: String,
    /// The first 8 bytes of the digests of the first 1,000 rows (base64url), if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
}

/// A line of an audit trail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    /// Its number.
    pub seq: u64,
    /// Its link.
    pub chain: String,
}

// === impl Payload ===

impl Payload {
    /// Returns its bytes.
    ///
    /// # Panics
    /// Never panics: its members are texts and numbers.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are JSON")
    }
}

// === impl StatementDigest ===

impl Default for StatementDigest {
    fn default() -> Self {
        Self::Sha256(String::new())
    }
}
