//! The messages of a client and of its server.

use std::{borrow::Cow, collections::BTreeMap};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::client::error::{ClientError, quote};

/// A message of a server.
#[derive(Debug)]
pub(super) enum Message {
    /// The answer to a request of the client. The id is JSON; servers leave it out if they cannot
    /// read a request.
    Answer {
        id: Option<String>,
        outcome: Result<Box<RawValue>, ClientError>,
    },
    /// A request to the client.
    Request {
        id: Box<RawValue>,
        method: String,
        params: Option<Box<RawValue>>,
    },
    Notification {
        method: String,
        params: Option<Box<RawValue>>,
    },
}

/// The members of a message of a server.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
    message: String,
    data: Option<Box<RawValue>>,
}

/// The params of all requests of a client.
#[derive(Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<&'a str>,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<Reference<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) argument: Option<Argument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_responses: Option<&'a BTreeMap<String, Box<RawValue>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) protocol_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) capabilities: Option<Capabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client_info: Option<&'a ClientInfo>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(super) meta: Option<Meta<'a>>,
}

/// The prompt or resource template that the completed argument belongs to.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type")]
pub(super) enum Reference<'a> {
    #[serde(rename = "ref/prompt")]
    Prompt { name: &'a str },
    #[serde(rename = "ref/resource")]
    Template { uri: &'a str },
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct Argument<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct Meta<'a> {
    #[serde(
        rename = "io.modelcontextprotocol/protocolVersion",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) version: Option<&'static str>,
    #[serde(
        rename = "io.modelcontextprotocol/clientCapabilities",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) capabilities: Option<Capabilities>,
    #[serde(
        rename = "io.modelcontextprotocol/clientInfo",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) client_info: Option<&'a ClientInfo>,
    #[serde(
        rename = "io.modelcontextprotocol/logLevel",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) log_level: Option<&'static str>,
    #[serde(rename = "progressToken", skip_serializing_if = "Option::is_none")]
    pub(super) progress_token: Option<u64>,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct Capabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) elicitation: Option<Elicitation>,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct Elicitation {
    /// Before there were other kinds, forms were declared with an empty object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) form: Option<Empty>,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct Empty {}

/// Name and version of the client.
#[derive(Debug, Serialize)]
pub(super) struct ClientInfo {
    pub(super) name: Cow<'static, str>,
    pub(super) version: Cow<'static, str>,
}

/// Makes a request.
pub(super) fn request(id: u64, method: &str, params: &Params<'_>) -> Bytes {
    #[derive(Serialize)]
    struct Request<'a> {
        jsonrpc: &'static str,
        id: u64,
        method: &'a str,
        params: &'a Params<'a>,
    }

    to_bytes(&Request {
        jsonrpc: "2.0",
        id,
        method,
        params,
    })
}

pub(super) fn initialized() -> Bytes {
    Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
}

/// Makes the notification that cancels a request.
pub(super) fn cancelled(id: u64) -> Bytes {
    let method = "notifications/cancelled";
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":{id}}}}}"#).into()
}

/// Makes the answer to a request of the server.
pub(super) fn answer(id: &RawValue, result: &str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into()
}

/// Makes the refusal of a request of the server.
pub(super) fn refusal(id: &RawValue, code: i64, message: &'static str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
        .into()
}

fn to_bytes(message: &impl Serialize) -> Bytes {
    let bytes = serde_json::to_vec(message);
    bytes
        .expect("messages have texts as keys and write to memory")
        .into()
}

// === impl Message ===

impl Message {
    /// Reads a message of a server.
    pub(super) fn read(json: &[u8]) -> Result<Self, ClientError> {
        // A list would be read as the members in their order.
        if json.trim_ascii_start().starts_with(b"[") {
            return Err(malformed("not an object", json));
        }
        let members: Members<'_> =
            serde_json::from_slice(json).map_err(|error| malformed(&error.to_string(), json))?;
        if members.jsonrpc.as_deref() != Some("2.0") {
            return Err(malformed("`jsonrpc` is not \"2.0\"", json));
        }
        let Members {
            id, method, params, ..
        } = members;
        match (method, id, members.result, members.error) {
            (Some(method), Some(id), ..) => Ok(Self::Request {
                id: id.to_owned(),
                method,
                params,
            }),
            (Some(method), None, ..) => Ok(Self::Notification { method, params }),
            (None, id, None, Some(error)) => Ok(Self::Answer {
                id: id.map(|id| id.get().to_owned()),
                outcome: Err(ClientError::Rpc {
                    code: error.code,
                    message: error.message,
                    data: error.data,
                }),
            }),
            (None, Some(id), Some(result), None) => Ok(Self::Answer {
                id: Some(id.get().to_owned()),
                outcome: Ok(result),
            }),
            _ => {
                let problem = "neither a request nor a result nor an error with an id";
                Err(malformed(problem, json))
            }
        }
    }
}

fn malformed(problem: &str, json: &[u8]) -> ClientError {
    ClientError::Unexpected(format!("{problem} in `{}`", quote(json)))
}
