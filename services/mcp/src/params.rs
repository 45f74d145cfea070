//! The params of the methods, read once and checked member by member.
//!
//! A member that is present must have its type: `null` is neither a string nor an object. Every
//! error names the member and quotes nothing of its value.

use std::{borrow::Cow, collections::BTreeMap, fmt, ops::Range};

use serde::{
    Deserialize, Deserializer as _,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};
use sha2::{Digest as _, Sha256};
use ziggurat_layers::json_rpc::{Call, Error};
use ziggurat_text::scan;

/// A member of the params, or of an object in them, that the server reads.
#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
pub(super) enum Member {
    Arguments,
    Capabilities,
    ClientInfo,
    Cursor,
    InputResponses,
    #[serde(rename = "_meta")]
    Meta,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    MetaCapabilities,
    #[serde(rename = "io.modelcontextprotocol/logLevel")]
    MetaLogLevel,
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    MetaVersion,
    Name,
    ProgressToken,
    ProtocolVersion,
    RequestState,
    Uri,
    Version,
    #[serde(other)]
    Other,
}

/// The positions of the members in the text of an object; an empty range is an absent member.
///
/// They stay valid while the call is moved, so that the params need not be read again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Positions([Range<usize>; Member::Other as usize]);

/// The members of the params of a call, or of an object in them, each as written.
#[derive(Clone, Debug)]
pub(super) struct Params<'a> {
    text: &'a str,
    positions: Positions,
}

/// Reads the positions of the members of this text.
struct Reader<'a>(&'a str);

/// The params of `completion/complete`: the argument to complete, and the values so far.
#[derive(Deserialize)]
pub(super) struct CompletionParams {
    #[serde(rename = "ref")]
    pub(super) subject: Subject,
    pub(super) argument: Argument,
    #[serde(default)]
    pub(super) context: CompletionContext,
}

/// The prompt or resource template that the completed argument belongs to.
#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Subject {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

/// The argument to complete, and the beginning of its value.
#[derive(Deserialize)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) value: String,
}

/// The arguments that have their values already.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CompletionContext {
    pub(super) arguments: BTreeMap<String, String>,
}

// === impl Params ===

impl<'a> Params<'a> {
    /// Reads the params of a call; any that are not an object have no members.
    pub(super) fn of(call: &'a Call) -> Self {
        Self::read(text(call))
    }

    /// Reads an object.
    pub(super) fn read(text: &'a str) -> Self {
        // The JSON is valid and has no duplicate members, so reading an object cannot fail.
        let positions = serde_json::Deserializer::from_str(text).deserialize_map(Reader(text));
        Self {
            text,
            positions: positions.unwrap_or_default(),
        }
    }

    /// Returns the params of a call that were read before.
    pub(super) fn at(call: &'a Call, positions: Positions) -> Self {
        let text = text(call);
        Self { text, positions }
    }

    pub(super) fn positions(self) -> Positions {
        self.positions
    }

    /// Returns a member as written, if it is present.
    pub(super) fn get(&self, member: Member) -> Option<&'a str> {
        self.text.get(self.range(member)?)
    }

    /// Returns the position of a member, if it is present.
    pub(super) fn range(&self, member: Member) -> Option<Range<usize>> {
        let range = self.positions.0[member as usize].clone();
        Some(range).filter(|range| !range.is_empty())
    }

    /// Returns a member that is an object.
    pub(super) fn object(&self, member: Member) -> Option<&'a str> {
        self.get(member).filter(|raw| is_object(raw))
    }

    /// Returns the name of a tool or prompt, if its arguments are an object.
    pub(super) fn name(&self) -> Result<String, Error> {
        let name = self.get(Member::Name).and_then(string);
        let name = name
            .filter(|name| !name.is_empty())
            .ok_or_else(|| invalid("`name` must be a non-empty string"))?;
        self.require(
            Member::Arguments,
            is_object,
            "`arguments` must be an object",
        )?;
        Ok(name.into_owned())
    }

    /// Returns the URI of `resources/read`.
    pub(super) fn uri(&self) -> Result<String, Error> {
        let uri = self.get(Member::Uri).and_then(string);
        uri.map(Cow::into_owned)
            .ok_or_else(|| invalid("`uri` must be a string"))
    }

    /// Returns the cursor of a list, if present.
    pub(super) fn cursor(&self) -> Result<Option<String>, Error> {
        let cursor = self.get(Member::Cursor);
        cursor
            .map(|raw| {
                string(raw)
                    .map(Cow::into_owned)
                    .ok_or_else(|| invalid("`cursor` must be a string"))
            })
            .transpose()
    }

    /// Checks the params of `initialize`, although they are not used.
    pub(super) fn check_initialize(&self) -> Result<(), Error> {
        for (member, is_right, problem) in [
            (
                Member::ProtocolVersion,
                is_string as fn(&str) -> bool,
                "`protocolVersion` must be a string",
            ),
            (
                Member::Capabilities,
                is_object,
                "`capabilities` must be an object",
            ),
            (
                Member::ClientInfo,
                is_object,
                "`clientInfo` must be an object",
            ),
        ] {
            self.require(member, is_right, problem)?;
        }
        let client = Self::read(self.get(Member::ClientInfo).unwrap_or("{}"));
        client.require(
            Member::Name,
            is_string,
            "`clientInfo.name` must be a string",
        )?;
        client.require(
            Member::Version,
            is_string,
            "`clientInfo.version` must be a string",
        )
    }

    /// Checks a member, if it is present.
    fn require(
        &self,
        member: Member,
        is_right: fn(&str) -> bool,
        problem: &'static str,
    ) -> Result<(), Error> {
        if self.get(member).is_none_or(is_right) {
            Ok(())
        } else {
            Err(invalid(problem))
        }
    }
}

// === impl Reader ===

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Positions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Positions, A::Error> {
        let start = self.0.as_ptr().addr();
        let mut positions = Positions::default();
        while let Some(member) = map.next_key::<Member>()? {
            let value = map.next_value::<&RawValue>()?.get();
            if let Some(range) = positions.0.get_mut(member as usize) {
                // The value is borrowed from the text.
                let at = value.as_ptr().addr() - start;
                *range = at..at + value.len();
            }
        }
        Ok(positions)
    }
}

/// Returns a digest of the params, the same for any order of the members.
pub(super) fn digest(call: &Call) -> [u8; 32] {
    let mut params: Value = serde_json::from_str(text(call)).unwrap_or_default();
    if let Some(members) = params.as_object_mut() {
        for other in ["_meta", "inputResponses", "requestState"] {
            members.remove(other);
        }
    }
    Sha256::digest(params.to_string()).into()
}

pub(super) fn invalid(problem: &'static str) -> Error {
    Error::invalid_params().with_data(problem)
}

/// Returns the text of a JSON string, copied only if it has escapes.
pub(super) fn string(raw: &str) -> Option<Cow<'_, str>> {
    match scan::unescaped(raw) {
        Some(text) => Some(Cow::Borrowed(text)),
        None => serde_json::from_str(raw).ok().map(Cow::Owned),
    }
}

fn text(call: &Call) -> &str {
    call.raw_params().unwrap_or("{}")
}

fn is_string(raw: &str) -> bool {
    raw.starts_with('"')
}

fn is_object(raw: &str) -> bool {
    raw.starts_with('{')
}
