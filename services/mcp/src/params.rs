//! The params of the methods, checked member by member.
//!
//! A member that is present must have its type: `null` is neither a string nor an object. Every
//! error names the member and quotes nothing of its value.

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, value::RawValue};
use sha2::{Digest as _, Sha256};
use ziggurat_layers::json_rpc::{Call, Error};

/// A member of the params as written, if it is present.
pub(super) type Member<'a> = Option<&'a RawValue>;

/// The params of `tools/call` and `prompts/get`: a name, with arguments.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: String,
    /// The range of the arguments in the params: an object, if present.
    pub(super) arguments: Option<Range<usize>>,
    /// The range of the client's answers to earlier questions.
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
            // A state that is not a string was not made by this server.
            state: params
                .state
                .map(|raw| string(raw).unwrap_or_else(|| "none".to_owned())),
        })
    }
}

/// Checks the params of `initialize`, although they are not used.
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

/// Returns the URI of `resources/read`.
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

/// Returns the cursor of a list, if present.
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

/// Returns a digest of the params, the same for any order of the members.
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

/// The params of `completion/complete`: the argument to complete, and the values so far.
pub(super) struct Unfinished {
    pub(super) subject: Subject,
    pub(super) place: String,
    pub(super) value: String,
    pub(super) others: BTreeMap<String, String>,
}

/// A prompt or resource template whose argument is completed.
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

/// Reads a member that is present even as `null`, which `Option` would read as absent.
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

/// Returns the range of `part` in the text it was borrowed from.
fn place(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}
