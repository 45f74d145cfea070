//! The messages of a client and of its server.

use std::{borrow::Cow, collections::BTreeMap};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{ClientError, quote};

/// A message of a server.
#[derive(Debug)]
pub(crate) enum Message {
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
pub(crate) struct Params<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<&'a str>,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<Reference<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) argument: Option<Argument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_responses: Option<&'a BTreeMap<String, Box<RawValue>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capabilities: Option<Capabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_info: Option<&'a ClientInfo>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<Meta<'a>>,
}

/// The prompt or resource template that the completed argument belongs to.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type")]
pub(crate) enum Reference<'a> {
    #[serde(rename = "ref/prompt")]
    Prompt { name: &'a str },
    #[serde(rename = "ref/resource")]
    Template { uri: &'a str },
}

#[derive(Clone, Copy, Serialize)]
pub(crate) struct Argument<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
}

#[derive(Clone, Copy, Serialize)]
pub(crate) struct Meta<'a> {
    #[serde(
        rename = "io.modelcontextprotocol/protocolVersion",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) version: Option<&'static str>,
    #[serde(
        rename = "io.modelcontextprotocol/clientCapabilities",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) capabilities: Option<Capabilities>,
    #[serde(
        rename = "io.modelcontextprotocol/clientInfo",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) client_info: Option<&'a ClientInfo>,
    #[serde(
        rename = "io.modelcontextprotocol/logLevel",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) log_level: Option<&'static str>,
    #[serde(rename = "progressToken", skip_serializing_if = "Option::is_none")]
    pub(crate) progress_token: Option<u64>,
}

#[derive(Clone, Copy, Serialize)]
pub(crate) struct Capabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) elicitation: Option<Elicitation>,
}

#[derive(Clone, Copy, Serialize)]
pub(crate) struct Elicitation {
    /// Before there were other kinds, forms were declared with an empty object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) form: Option<Empty>,
}

#[derive(Clone, Copy, Serialize)]
pub(crate) struct Empty {}

/// Name and version of the client.
#[derive(Debug, Serialize)]
pub(crate) struct ClientInfo {
    pub(crate) name: Cow<'static, str>,
    pub(crate) version: Cow<'static, str>,
}

/// Makes a request.
pub(crate) fn request(id: u64, method: &str, params: &Params<'_>) -> Bytes {
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

pub(crate) fn initialized() -> Bytes {
    Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
}

/// Makes the notification that cancels a request.
pub(crate) fn cancelled(id: u64) -> Bytes {
    let method = "notifications/cancelled";
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":{id}}}}}"#).into()
}

/// Makes the answer to a request of the server.
pub(crate) fn answer(id: &RawValue, result: &str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into()
}

/// Makes the refusal of a request of the server.
pub(crate) fn refusal(id: &RawValue, code: i64, message: &'static str) -> Bytes {
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
    pub(crate) fn read(json: &[u8]) -> Result<Self, ClientError> {
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
