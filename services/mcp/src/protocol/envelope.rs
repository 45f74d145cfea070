//! The members of a request that determine its protocol.

use std::borrow::Cow;

use ziggurat_layers::json_rpc::{Call, Error, Id};

use crate::{
    params::{Member, Params, Positions, invalid, string},
    protocol::{Capabilities, Revision, error, revision::Revisions},
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

/// The params of a request and their `_meta`.
pub(super) struct Envelope<'a> {
    params: Params<'a>,
    /// Empty unless `_meta` is an object.
    meta: Params<'a>,
}

// === impl Envelope ===

impl<'a> Envelope<'a> {
    pub(super) fn read(call: &'a Call) -> Result<Self, Error> {
        if call.raw_params().is_some_and(|raw| !raw.starts_with('{')) {
            return Err(invalid("`params` must be an object"));
        }
        let params = Params::of(call);
        let meta = Params::read(params.object(Member::Meta).unwrap_or("{}"));
        Ok(Self { params, meta })
    }

    /// Returns the positions of the params, so that they are read once.
    pub(super) fn positions(self) -> Positions {
        self.params.positions()
    }

    /// Returns whether the request names a revision, valid or not.
    pub(super) fn is_modern(&self) -> bool {
        self.meta.get(Member::MetaVersion).is_some()
    }

    /// Returns the revision as written, or `None` if it is not a string.
    pub(super) fn version(&self) -> Option<Cow<'a, str>> {
        string(self.meta.get(Member::MetaVersion)?)
    }

    /// Returns the name of the tool or prompt, or the URI of the resource. `None` if it is not a
    /// string.
    pub(super) fn subject(&self, method: &str) -> Option<Cow<'a, str>> {
        string(self.params.get(if method == "resources/read" {
            Member::Uri
        } else {
            Member::Name
        })?)
    }

    /// Returns the revision that answers an `initialize`: the one that was asked for, or the newest
    /// that the server answers.
    pub(super) fn negotiated(&self, revisions: Revisions) -> Result<Revision, Error> {
        let asked = self.params.get(Member::ProtocolVersion).and_then(string);
        let of_client = asked
            .as_deref()
            .and_then(|asked| Revision::legacy(asked.as_bytes()))
            .filter(|revision| revisions.contains(*revision));
        let newest = || revisions.newest_first().find(|it| !it.is_modern());
        of_client
            .or_else(newest)
            .ok_or_else(|| error::unsupported(asked.as_deref().unwrap_or("none"), revisions))
    }

    pub(super) fn progress_token(&self) -> Option<Id> {
        let token = self.meta.get(Member::ProgressToken)?;
        let id: Id = serde_json::from_str(token).ok()?;
        (id.as_str().is_some() || id.is_integer()).then_some(id)
    }

    pub(super) fn wants_log(&self) -> bool {
        self.meta.get(Member::MetaLogLevel).is_some()
    }

    /// Checks first that all required members of a modern request are present.
    pub(super) fn check_presence(&self) -> Result<(), Error> {
        let problem = if self.params.get(Member::Meta).is_none() {
            "`_meta` is missing"
        } else if self.params.object(Member::Meta).is_none() {
            "`_meta` must be an object"
        } else if !self.is_modern() {
            "`_meta` has no `io.modelcontextprotocol/protocolVersion`"
        } else if self.meta.get(Member::MetaCapabilities).is_none() {
            "`_meta` has no `io.modelcontextprotocol/clientCapabilities`"
        } else {
            return Ok(());
        };
        Err(invalid(problem))
    }

    /// Checks third that the revision is supported. A value that is not a string is left to the
    /// fourth check.
    pub(super) fn check_version(&self, revisions: Revisions) -> Result<(), Error> {
        let modern = Revision::V2026_07_28;
        let is_answered = |version: &str| version == modern.as_str() && revisions.contains(modern);
        match self.version() {
            Some(version) if !is_answered(&version) => Err(error::unsupported(&version, revisions)),
            _ => Ok(()),
        }
    }

    /// Checks fourth that the members have their types.
    pub(super) fn check_types(&self) -> Result<Capabilities, Error> {
        if self.version().is_none() {
            return Err(invalid("the protocol version must be a string"));
        }
        let capabilities = self.meta.object(Member::MetaCapabilities);
        let capabilities =
            capabilities.ok_or_else(|| invalid("the client capabilities must be an object"))?;
        if let Some(level) = self.meta.get(Member::MetaLogLevel)
            && !string(level).is_some_and(|level| LEVELS.contains(&&*level))
        {
            return Err(invalid("the log level must be one of the eight"));
        }
        Ok(Capabilities::read(capabilities))
    }
}
