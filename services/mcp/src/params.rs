//! The params of the methods, checked member by member.
//!
//! A member that is there has its type: `null` is neither a string nor an object. Every
//! complaint names the member and quotes nothing of it.

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, value::RawValue};
use sha2::{Digest as _, Sha256};
use ziggurat_layers::json_rpc::{Call, Error};

/// A member of the params as it was written, if it is there.
pub(super) type Member<'a> = Option<&'a RawValue>;

/// `tools/call` and `prompts/get`: something by its name, with arguments.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: String,
    /// Where the arguments are in the params: an object, if there are any.
    pub(super) arguments: Option<Range<usize>>,
    /// What the client answers to what it was asked before.
    pub(super) responses: Option<Range<usize>>,
    pub(super) state: Option<String>,
}

// === impl Named ===

impl Named {
    pub(super) fn of(call: &Call) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, default, deserialize_with = "present")]
            name: Member<'a>,
            #[serde(borrow, default, deserialize_with = "present")]
            arguments: Member<'a>,
            #[serde(
                borrow,
                default,
                rename = "inputResponses",
                deserialize_with = "present"
            )]
            responses: Member<'a>,
            #[serde(borrow, default, rename = "requestState", deserialize_with = "present")]
            state: Member<'a>,
        }

        let params: Params<'_> = call.params()?;
        let name = params.name.and_then(string);
        let name = name
            .filter(|name| !name.is_empty())
            .ok_or_else(|| invalid("`name` must be a non-empty string"))?;
        if params.arguments.is_some_and(|raw| !is_object(raw)) {
            return Err(invalid("`arguments` must be an object"));
        }
        let whole = call.raw_params().unwrap_or_default();
        let within = |raw: &RawValue| place(whole, raw.get());
        Ok(Self {
            name,
            arguments: params.arguments.map(within),
            responses: params.responses.map(within),
            // One that is no string was not made here.
            state: params
                .state
                .map(|raw| string(raw).unwrap_or_else(|| "none".to_owned())),
        })
    }
}

/// `initialize`: nothing of it is used, but it has to be well-formed.
pub(super) fn check_initialize(call: &Call) -> Result<(), Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        protocol_version: Member<'a>,
        #[serde(borrow, default, deserialize_with = "present")]
        capabilities: Member<'a>,
        #[serde(borrow, default, deserialize_with = "present")]
        client_info: Member<'a>,
    }

    #[derive(Deserialize)]
    struct ClientInfo<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        name: Member<'a>,
        #[serde(borrow, default, deserialize_with = "present")]
        version: Member<'a>,
    }

    let params: Params<'_> = call.params()?;
    require(
        params.protocol_version,
        is_string,
        "`protocolVersion` must be a string",
    )?;
    require(
        params.capabilities,
        is_object,
        "`capabilities` must be an object",
    )?;
    require(
        params.client_info,
        is_object,
        "`clientInfo` must be an object",
    )?;
    let Some(raw) = params.client_info else {
        return Ok(());
    };
    let client: ClientInfo<'_> =
        serde_json::from_str(raw.get()).map_err(|_| invalid("`clientInfo` must be an object"))?;
    require(client.name, is_string, "`clientInfo.name` must be a string")?;
    require(
        client.version,
        is_string,
        "`clientInfo.version` must be a string",
    )
}

/// `resources/read`: the URI.
pub(super) fn uri(call: &Call) -> Result<String, Error> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        uri: Member<'a>,
    }

    let params: Params<'_> = call.params()?;
    let uri = params.uri.and_then(string);
    uri.ok_or_else(|| invalid("`uri` must be a string"))
}

/// Lists: the cursor, if there is one.
pub(super) fn cursor(call: &Call) -> Result<Option<String>, Error> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        cursor: Member<'a>,
    }

    let params: Params<'_> = call.params()?;
    let Some(raw) = params.cursor else {
        return Ok(None);
    };
    let cursor = string(raw).ok_or_else(|| invalid("`cursor` must be a string"))?;
    Ok(Some(cursor))
}

/// What is called and with what, in few bytes: the same however the client orders it.
pub(super) fn digest(call: &Call) -> [u8; 32] {
    let mut params: Value = call
        .raw_params()
        .and_then(|raw| serde_json::from_str(raw).ok())
        .unwrap_or_default();
    if let Some(members) = params.as_object_mut() {
        for other in ["_meta", "inputResponses", "requestState"] {
            members.remove(other);
        }
    }
    Sha256::digest(params.to_string()).into()
}

/// `completion/complete`: what is to be completed, and what is there already.
pub(super) struct Unfinished {
    pub(super) subject: Subject,
    pub(super) place: String,
    pub(super) value: String,
    pub(super) others: BTreeMap<String, String>,
}

/// What has arguments.
#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Subject {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

impl Unfinished {
    pub(super) fn of(call: &Call) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "ref")]
            subject: Subject,
            argument: Argument,
            #[serde(default)]
            context: Filled,
        }

        #[derive(Deserialize)]
        struct Argument {
            name: String,
            value: String,
        }

        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Filled {
            arguments: BTreeMap<String, String>,
        }

        let params: Params = call.params()?;
        Ok(Self {
            subject: params.subject,
            place: params.argument.name,
            value: params.argument.value,
            others: params.context.arguments,
        })
    }
}

pub(super) fn invalid(problem: &'static str) -> Error {
    Error::invalid_params().with_data(problem)
}

/// Reads a member that is there, `null` included, which an `Option` takes for absent.
pub(super) fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Member<'a>, D::Error> {
    <&RawValue>::deserialize(deserializer)
        .map(Some)
        .map_err(de::Error::custom)
}

fn require(
    member: Member<'_>,
    is_right: impl FnOnce(&RawValue) -> bool,
    problem: &'static str,
) -> Result<(), Error> {
    if member.is_none_or(is_right) {
        Ok(())
    } else {
        Err(invalid(problem))
    }
}

fn is_string(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

pub(super) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

pub(super) fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Where `part` is in the text it was borrowed from.
fn place(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}
