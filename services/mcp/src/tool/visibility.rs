//! The revisions that list a tool, and the description for each kind of revision.

use std::{borrow::Cow, fmt, sync::Arc};

use crate::{Caller, Property, Schema, ToolDescriptor};

/// The clients that are told about a tool.
///
/// Clients that negotiate no revision get the list of revision 2024-11-05, and a server may have to
/// keep this list as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Visibility {
    /// Every client.
    #[default]
    Everywhere,
    /// Clients that negotiate a revision; others can call the tool by its name.
    Negotiated,
    /// Clients that negotiate a revision; for others the tool does not exist.
    OnlyNegotiated,
    /// Clients that do not negotiate; others can call the tool by its name.
    NotNegotiated,
    /// No client; all can call the tool by its name.
    Nowhere,
}

/// The description and the arguments of a tool for clients that negotiate a revision.
#[derive(Clone, Debug)]
pub(super) struct Wording {
    description: Cow<'static, str>,
    schema: Schema,
}

/// The callers for whom a tool exists.
#[derive(Clone)]
pub(super) struct Audience(Arc<dyn Fn(&Caller) -> bool + Send + Sync>);

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audience").finish_non_exhaustive()
    }
}

// === impl ToolDescriptor ===

impl ToolDescriptor {
    /// Sets which clients are told about the tool.
    pub fn with_visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }

    /// Sets another description and other arguments for clients that negotiate a revision, when
    /// the list for other clients has to stay as it is.
    pub fn with_negotiated(
        mut self,
        description: impl Into<Cow<'static, str>>,
        schema: Schema,
    ) -> Self {
        let description = description.into();
        self.negotiated = Some(Wording {
            description,
            schema,
        });
        self
    }

    /// Adds an optional argument for clients that negotiate a revision.
    pub fn with_negotiated_argument(mut self, name: &'static str, property: Property) -> Self {
        let wording = self.negotiated.take().unwrap_or_else(|| Wording {
            description: self.description.clone(),
            schema: self.schema.clone(),
        });
        let schema = wording.schema.with_optional(name, property);
        self.with_negotiated(wording.description, schema)
    }

    /// Sets the callers for whom the tool exists; by default it exists for all. A list with such a
    /// tool is made for each caller.
    pub fn with_audience(
        mut self,
        serves: impl Fn(&Caller) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.audience = Some(Audience(Arc::new(serves)));
        self
    }

    /// Returns whether the tool exists for a caller.
    pub(crate) fn serves(&self, caller: &Caller) -> bool {
        self.audience
            .as_ref()
            .is_none_or(|audience| (audience.0)(caller))
    }

    /// Returns which clients are told about the tool.
    #[must_use]
    pub fn visibility(&self) -> Visibility {
        self.visibility
    }

    pub(crate) fn is_listed(&self, is_negotiated: bool) -> bool {
        match self.visibility {
            Visibility::Everywhere => true,
            Visibility::Negotiated | Visibility::OnlyNegotiated => is_negotiated,
            Visibility::NotNegotiated => !is_negotiated,
            Visibility::Nowhere => false,
        }
    }

    /// Returns whether the tool exists for a client.
    pub(crate) fn exists(&self, is_negotiated: bool) -> bool {
        is_negotiated || self.visibility != Visibility::OnlyNegotiated
    }

    pub(crate) fn description(&self, is_negotiated: bool) -> &str {
        let negotiated = self.negotiated.as_ref().filter(|_| is_negotiated);
        negotiated.map_or(&self.description, |wording| &wording.description)
    }

    pub(crate) fn schema(&self, is_negotiated: bool) -> &Schema {
        let negotiated = self.negotiated.as_ref().filter(|_| is_negotiated);
        negotiated.map_or(&self.schema, |wording| &wording.schema)
    }
}
