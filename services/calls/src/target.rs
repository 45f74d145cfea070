//! Targets of calls.

use ziggurat_audit::CallStart;
use ziggurat_telemetry::traces::Incoming;

use crate::activity::Begin;

/// The target of a call: a tool, a resource, a route or a pipeline, and the notes that are kept of
/// the call.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Name of the method or the route in metrics and spans.
    pub route: &'static str,
    /// Name of the method in the record; for a request, its method and path.
    pub method: &'a str,
    /// Path of the endpoint; empty over standard input and output.
    pub endpoint: &'static str,
    /// Name of the tool or the prompt, or address of the resource.
    pub tool: &'a str,
    /// Name of the pipeline.
    pub pipeline: &'a str,
    /// The facts about a call of the Model Context Protocol.
    pub protocol: Option<Protocol<'a>>,
    /// The record that the audit trail gets.
    pub recorded: RecordRule,
    /// True if the metrics count the call.
    pub is_measured: bool,
    /// Place in the list of running statements, for a call that may run some.
    pub followed: Option<Begin<'a>>,
}

/// Facts about a call of the Model Context Protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Protocol<'a> {
    /// The revision.
    pub revision: &'a str,
    /// Id of the message.
    pub id: Option<&'a str>,
    /// Name of the client program, as it says.
    pub client_name: &'a str,
    /// Version of the client program, as it says.
    pub client_version: &'a str,
    /// True if `tool` is the address of a resource, which metrics and spans leave out.
    pub is_address: bool,
    /// True if the call came over standard input and output.
    pub is_stdio: bool,
}

/// The request that a call came with.
#[derive(Clone, Debug, Default)]
pub struct RequestFacts<'a> {
    /// Id of the request; empty if it has none.
    pub id: &'a str,
    /// The trace of the client.
    pub incoming: Incoming,
}

/// The record that the audit trail gets of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordRule {
    /// The trail gets no record.
    #[default]
    Never,
    /// The trail gets a record.
    Always,
    /// The trail gets a record if the settings ask for all methods.
    IfAll,
}

// === impl Target ===

impl<'a> Target<'a> {
    /// Returns a target without names, of which nothing is kept.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            route: "",
            method: "",
            endpoint: "",
            tool: "",
            pipeline: "",
            protocol: None,
            recorded: RecordRule::Never,
            is_measured: false,
            followed: None,
        }
    }

    /// Returns the name in metrics and spans.
    pub(crate) fn label(&self) -> &'a str {
        let is_address = self.protocol.is_some_and(|protocol| protocol.is_address);
        if is_address { "" } else { self.tool }
    }

    /// Returns the name that comments in statements have.
    pub(crate) fn named(&self) -> &'a str {
        match self.protocol {
            Some(_) => self.tool,
            None if self.pipeline.is_empty() => self.method,
            None => "",
        }
    }

    /// Returns whether the call came over standard input and output.
    pub(crate) fn is_stdio(&self) -> bool {
        self.protocol.is_some_and(|protocol| protocol.is_stdio)
    }

    /// Returns what the record says of the target.
    pub(crate) fn start(&self) -> CallStart<'a> {
        let protocol = self.protocol.unwrap_or_default();
        CallStart {
            transport: if self.is_stdio() { "stdio" } else { "http" },
            endpoint: self.endpoint,
            revision: protocol.revision,
            client_name: protocol.client_name,
            client_version: protocol.client_version,
            method: self.method,
            tool: self.tool,
            pipeline: self.pipeline,
            ..CallStart::default()
        }
    }
}
