//! Judges a kept answer by its receipt.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;
use ziggurat_runtime::json;

use crate::{
    Digest, Payload, PublicKey, Receipt, ReceiptError, Sha, StatementDigest, canonical, hex, sha256,
};

/// Member of `_meta` with the receipt.
const RECEIPT_KEY: &str = "ziggurat/receipt";

/// Members of a body of `/api/query` that are not of the statement.
const OTHER_MEMBERS: [&str; 2] = ["confirm", "receipt"];

/// Path of statements over HTTP, in the form in which receipts name a tool.
const QUERY: &str = "POST /api/query";

/// An answer, and the request for it if that was kept too.
#[derive(Clone, Debug)]
pub struct Kept {
    request: Option<Value>,
    answer: Answer,
}

/// An answer as it was sent.
#[derive(Clone, Debug)]
enum Answer {
    /// The result of a tool.
    Result(Value),
    /// The lines of `/api/query` before the last, and the contents of the last.
    Lines(String, Value),
}

/// An answer with a good receipt.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The signed facts.
    pub payload: Payload,
    /// Id of the key that signed them.
    pub key: String,
    /// SHA-256 of the payload.
    pub digest: Digest,
    /// The request, if it was kept.
    pub request: Option<Value>,
    /// The rows, if the answer has them in a form for programs.
    pub rows: Vec<Value>,
}

/// Reason why an answer is not good.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The answer has no receipt.
    #[error("there is no receipt")]
    NoReceipt,
    /// The receipt is not good.
    #[error(transparent)]
    Receipt(#[from] ReceiptError),
    /// The text is another one.
    #[error("the text is not that of the receipt")]
    Text,
    /// The rows are others.
    #[error("the rows are not those of the receipt")]
    Rows,
    /// The request is another one.
    #[error("the statement is not that of the receipt")]
    Statement,
    /// The audit trail does not know the receipt.
    #[error("no record has this receipt")]
    NoRecord,
}

// === impl Kept ===

impl Kept {
    /// Reads a kept answer: a JSON-RPC response, the lines of `/api/query`, or an object with
    /// `request` and `response`, one of these.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let (request, answer) = match json::value(text.as_bytes()) {
            Ok(mut kept) if kept.get("request").is_some() && kept.get("response").is_some() => {
                let answer = match kept["response"].take() {
                    Value::String(lines) => Answer::of_lines(&lines),
                    response => Answer::of_response(response),
                };
                (Some(kept["request"].take()), answer)
            }
            Ok(response) => (None, Answer::of_response(response)),
            Err(_) => (None, Answer::of_lines(text)),
        };
        Self { request, answer }
    }

    /// Judges the answer, and the request if it was kept.
    ///
    /// # Errors
    /// Fails if the receipt is missing or wrong, or has another answer or request.
    pub fn judge(self, keys: &[PublicKey]) -> Result<Judged, Fault> {
        let receipt = self.answer.receipt().ok_or(Fault::NoReceipt)?;
        let payload = receipt.verify(keys)?;
        self.answer.check(&payload)?;
        if let Some(request) = &self.request
            && !is_asked(request, &payload)
        {
            return Err(Fault::Statement);
        }
        Ok(Judged {
            digest: receipt.digest().unwrap_or_default(),
            key: receipt.kid,
            rows: self.answer.rows(),
            request: self.request,
            payload,
        })
    }
}

// === impl Answer ===

impl Answer {
    fn of_response(mut response: Value) -> Self {
        match response.get_mut("result") {
            Some(result) => Self::Result(result.take()),
            None => Self::Result(response),
        }
    }

    fn of_lines(lines: &str) -> Self {
        let lines = lines.trim_end();
        let start = lines.rfind('\n').map_or(0, |at| at + 1);
        let (before, last) = lines.split_at(start);
        let mut last: Value = json::value(last.as_bytes()).unwrap_or_default();
        Self::Lines(before.to_owned(), last["done"].take())
    }

    fn receipt(&self) -> Option<Receipt> {
        let receipt = match self {
            Self::Result(result) => result.get("_meta")?.get(RECEIPT_KEY)?,
            Self::Lines(_, done) => done.get("receipt")?,
        };
        Receipt::deserialize(receipt).ok()
    }

    /// Compares the answer with the facts.
    fn check(&self, payload: &Payload) -> Result<(), Fault> {
        let sent = &payload.sent;
        match self {
            Self::Result(result) => {
                let text = text_digest(&result["content"]);
                if sent.text != Some(hex(&text)) || result["isError"] == Value::Bool(true) {
                    return Err(Fault::Text);
                }
                let structured = result.get("structuredContent");
                let structured = structured.map(|json| hex(&canonical(json)));
                (sent.structured == structured)
                    .then_some(())
                    .ok_or(Fault::Rows)
            }
            Self::Lines(before, done) => {
                let mut done = done.clone();
                if let Some(members) = done.as_object_mut() {
                    members.remove("receipt");
                }
                let lines = lines_digest(sha_of(before), &done);
                (sent.lines == Some(hex(&lines)))
                    .then_some(())
                    .ok_or(Fault::Rows)
            }
        }
    }

    /// Returns the rows, if they are there as JSON.
    fn rows(&self) -> Vec<Value> {
        match self {
            Self::Result(result) => {
                let rows = result["structuredContent"]["rows"].as_array();
                rows.cloned().unwrap_or_default()
            }
            Self::Lines(before, _) => {
                let lines = before.lines().map(serde_json::from_str);
                let lines = lines.filter_map(|line: Result<Value, _>| line.ok());
                let rows = lines.filter_map(|mut line| match line["rows"].take() {
                    Value::Array(rows) => Some(rows),
                    _ => None,
                });
                rows.flatten().collect()
            }
        }
    }
}

fn sha_of(text: &str) -> Sha {
    let mut sha = Sha::default();
    sha.update(text.as_bytes());
    sha
}

/// Returns the digest of the lines of `/api/query`: `lines` are those before the last, `done` is the
/// contents of the last without the receipt.
#[must_use]
pub fn lines_digest(mut lines: Sha, done: &Value) -> Digest {
    lines.update(&canonical(done));
    lines.finish()
}

/// Returns the digest of the content of a result.
#[must_use]
pub fn text_digest(content: &Value) -> Digest {
    match content.as_array().map(Vec::as_slice) {
        Some([only]) if only["type"] == "text" => {
            sha256(only["text"].as_str().unwrap_or_default().as_bytes())
        }
        _ => canonical(content),
    }
}

/// Returns the arguments of a request, without those that are not in the digest.
#[must_use]
pub fn open_arguments(mut arguments: Value, hidden: &[impl AsRef<str>]) -> Value {
    if let Some(members) = arguments.as_object_mut() {
        for name in hidden {
            members.remove(name.as_ref());
        }
    }
    arguments
}

/// Returns the digest of a body of `/api/query`.
#[must_use]
pub fn body_digest(body: Value) -> Digest {
    canonical(&open_arguments(body, &OTHER_MEMBERS))
}

/// Returns whether the facts are about a request.
fn is_asked(request: &Value, payload: &Payload) -> bool {
    if payload.tool == QUERY {
        let sql = request["sql"].as_str().unwrap_or_default();
        let statement = StatementDigest::Sha256(hex(&sha256(sql.as_bytes())));
        let parameters = Some(hex(&body_digest(request.clone())));
        return payload.statement == statement && payload.parameters == parameters;
    }
    let params = request.get("params").unwrap_or(request);
    let arguments = params.get("arguments").cloned();
    let arguments = arguments.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let open = open_arguments(arguments, &payload.hidden);
    params["name"] == *payload.tool && payload.parameters == Some(hex(&canonical(&open)))
}

#[cfg(test)]
mod tests;
