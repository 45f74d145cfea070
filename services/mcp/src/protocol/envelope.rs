//! The members of a request's `_meta`.

use std::borrow::Cow;

use serde::Deserialize;
use ziggurat_layers::json_rpc::{Call, Error, Id};

use crate::{
    params::{self, Member, invalid, is_object, present},
    protocol::{Capabilities, Revision, error},
};

/// The eight levels of RFC 5424.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The params that determine the protocol of a call.
#[derive(Default, Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default, rename = "_meta", deserialize_with = "present")]
    raw_meta: Member<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    name: Member<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    uri: Member<'a>,
    #[serde(
        borrow,
        default,
        rename = "protocolVersion",
        deserialize_with = "present"
    )]
    asked: Member<'a>,
    /// Empty unless `_meta` is an object.
    #[serde(skip)]
    meta: Meta<'a>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(
        borrow,
        default,
        rename = "io.modelcontextprotocol/protocolVersion",
        deserialize_with = "present"
    )]
    version: Member<'a>,
    #[serde(
        borrow,
        default,
        rename = "io.modelcontextprotocol/clientCapabilities",
        deserialize_with = "present"
    )]
    capabilities: Member<'a>,
    #[serde(
        borrow,
        default,
        rename = "io.modelcontextprotocol/logLevel",
        deserialize_with = "present"
    )]
    log_level: Member<'a>,
    #[serde(
        borrow,
        default,
        rename = "progressToken",
        deserialize_with = "present"
    )]
    progress_token: Member<'a>,
}

// === impl Envelope ===

impl<'a> Envelope<'a> {
    pub(super) fn read(call: &'a Call) -> Result<Self, Error> {
        if call.raw_params().is_some_and(|raw| !raw.starts_with('{')) {
            return Err(invalid("`params` must be an object"));
        }
        let mut envelope: Self = call.params()?;
        if let Some(raw) = envelope.raw_meta.filter(|raw| is_object(raw)) {
            // The JSON is valid and has no duplicate members, so this cannot fail.
            envelope.meta = serde_json::from_str(raw.get()).unwrap_or_default();
        }
        Ok(envelope)
    }

    /// Returns whether the request names a revision, valid or not.
    pub(super) fn is_modern(&self) -> bool {
        self.meta.version.is_some()
    }

    /// Returns the revision as written, or `None` if it is not a string.
    pub(super) fn version(&self) -> Option<Cow<'a, str>> {
        text(self.meta.version)
    }

    /// Returns the name of the tool or prompt, or the URI of the resource. `None` if it is not a
    /// string.
    pub(super) fn subject(&self, method: &str) -> Option<Cow<'a, str>> {
        text(if method == "resources/read" {
            self.uri
        } else {
            self.name
        })
    }

    /// Returns the revision that answers an `initialize`.
    pub(super) fn negotiated(&self) -> Revision {
        text(self.asked)
            .and_then(|asked| Revision::legacy(asked.as_bytes()))
            .unwrap_or(Revision::LATEST_LEGACY)
    }

    pub(super) fn progress_token(&self) -> Option<Id> {
        let id: Id = serde_json::from_str(self.meta.progress_token?.get()).ok()?;
        (id.as_str().is_some() || id.is_integer()).then_some(id)
    }

    pub(super) fn wants_log(&self) -> bool {
        self.meta.log_level.is_some()
    }

    /// Checks first that all required members of a modern request are present.
    pub(super) fn check_presence(&self) -> Result<(), Error> {
        match self.raw_meta {
            None => return Err(invalid("`_meta` is missing")),
            Some(raw) if !is_object(raw) => return Err(invalid("`_meta` must be an object")),
            Some(_) => {}
        }
        if self.meta.version.is_none() {
            return Err(invalid(
                "`_meta` has no `io.modelcontextprotocol/protocolVersion`",
            ));
        }
        if self.meta.capabilities.is_none() {
            return Err(invalid(
                "`_meta` has no `io.modelcontextprotocol/clientCapabilities`",
            ));
        }
        Ok(())
    }

    /// Checks third that the revision is supported. A value that is not a string is left to the
    /// fourth check.
    pub(super) fn check_version(&self) -> Result<(), Error> {
        match self.version() {
            Some(version) if version != Revision::V2026_07_28.as_str() => {
                Err(error::unsupported(&version))
            }
            _ => Ok(()),
        }
    }

    /// Checks fourth that the members have their types.
    pub(super) fn check_types(&self) -> Result<Capabilities, Error> {
        if self.version().is_none() {
            return Err(invalid("the protocol version must be a string"));
        }
        let capabilities = self
            .meta
            .capabilities
            .filter(|raw| is_object(raw))
            .ok_or_else(|| invalid("the client capabilities must be an object"))?;
        if let Some(level) = self.meta.log_level {
            let known = text(Some(level)).is_some_and(|level| LEVELS.contains(&&*level));
            if !known {
                return Err(invalid("the log level must be one of the eight"));
            }
        }
        Ok(Capabilities::read(capabilities.get()))
    }
}

fn text(member: Member<'_>) -> Option<Cow<'_, str>> {
    let raw = member?.get();
    let plain = raw.strip_prefix('"')?.strip_suffix('"')?;
    if plain.contains('\\') {
        params::string(member?).map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(plain))
    }
}
