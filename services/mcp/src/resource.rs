//! Resources.

use std::{borrow::Cow, fmt, panic::AssertUnwindSafe, pin::Pin, sync::Arc};

use futures_util::FutureExt as _;
use serde::Serialize;

use crate::{
    Caller, EntryKind, Error, Failure, ResourceTemplate, SetupError, sorted_list::SortedList,
};

mod closure;
pub(crate) mod read_resource;
mod source;
pub(crate) mod template;

use self::source::AnySource;
pub(crate) use self::source::ListFuture;
pub use self::{
    closure::{Resource, ResourceClosure},
    source::{ResourcePage, ResourceSource},
};

/// A resource as a type, for one that has a state; see [`Resource`] for closures.
///
/// ```
/// use ziggurat_mcp::{Caller, ReadError, ResourceHandler, ResourceDescriptor, Resources};
///
/// struct Limits;
///
/// impl ResourceHandler for Limits {
///     fn describe(&self) -> ResourceDescriptor {
///         ResourceDescriptor::new("custom://limits", "Limits", "What a caller may ask for.")
///     }
///
///     async fn read(&self, _: Caller) -> Result<String, ReadError> {
///         Ok(r#"{"max":100}"#.to_owned())
///     }
/// }
///
/// let resources = Resources::new().with(Limits);
/// # let _ = resources;
/// ```
pub trait ResourceHandler: Send + Sync + 'static {
    /// Returns the name and a description of the resource; called once.
    fn describe(&self) -> ResourceDescriptor;

    /// Reads its text.
    ///
    /// The whole text is held in memory: a resource that reads rows limits them.
    fn read(&self, caller: Caller) -> impl Future<Output = Result<String, ReadError>> + Send;
}

/// Description of a resource for clients.
#[derive(Clone, Debug)]
#[must_use]
pub struct ResourceDescriptor {
    pub(super) uri: Cow<'static, str>,
    pub(super) name: Cow<'static, str>,
    pub(super) title: Option<Cow<'static, str>>,
    pub(super) description: Cow<'static, str>,
    pub(super) mime_type: Cow<'static, str>,
    is_blob: bool,
}

/// The failure of reading a resource.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The source of the resource is unreachable: the client reads a text about that.
    Unavailable(Unavailable),
    /// The client gets a protocol error.
    Failed(Failure),
}

/// The text of a resource while it cannot be read.
#[derive(Clone, Debug, Serialize)]
pub struct Unavailable {
    error: bool,
    message: Cow<'static, str>,
    code: &'static str,
    retryable: bool,
}

/// The resources of a server. Clones share them.
#[derive(Clone, Default)]
#[must_use]
pub struct Resources {
    entries: Arc<SortedList<Resource>>,
    templates: Arc<Vec<ResourceTemplate>>,
    source: Option<Arc<dyn AnySource>>,
}

/// Content of a resource.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) uri: Cow<'static, str>,
    pub(super) mime_type: Cow<'static, str>,
    /// Set if `text` is bytes in Base64.
    pub(super) is_blob: bool,
    pub(super) text: String,
}

/// The future of a type-erased resource.
///
/// It resolves to `None` if a template has no such resource.
// Boxed: each resource has another future type, and reading one is rare.
pub(super) type ReadFuture =
    Pin<Box<dyn Future<Output = Result<Option<Contents>, Failure>> + Send>>;

/// A type-erased resource.
pub(super) trait AnyResource: Send + Sync {
    fn start(self: Arc<Self>, descriptor: Arc<ResourceDescriptor>, caller: Caller) -> ReadFuture;
}

// === impl Contents ===

impl Contents {
    /// Reads a resource. A panic is a failure.
    pub(super) async fn read(
        text: impl Future<Output = Result<Option<String>, ReadError>>,
        uri: Cow<'static, str>,
        mime_type: Cow<'static, str>,
    ) -> Result<Option<Self>, Failure> {
        let text = AssertUnwindSafe(text).catch_unwind().await;
        let (mime_type, text) = match text.unwrap_or_else(|_| Err(Failure::panicked().into())) {
            Ok(Some(text)) => (mime_type, text),
            Ok(None) => return Ok(None),
            Err(ReadError::Unavailable(unavailable)) => {
                (Cow::Borrowed("application/json"), unavailable.to_json())
            }
            Err(ReadError::Failed(failure)) => return Err(failure),
        };
        Ok(Some(Self {
            uri,
            mime_type,
            is_blob: false,
            text,
        }))
    }
}

// === impl ResourceDescriptor ===

impl ResourceDescriptor {
    /// Describes a resource that is JSON.
    pub fn new(
        uri: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: description.into(),
            mime_type: Cow::Borrowed("application/json"),
            is_blob: false,
        }
    }

    /// Returns the URI.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Marks the content as bytes in Base64.
    pub fn with_bytes(mut self) -> Self {
        self.is_blob = true;
        self
    }

    /// Adds a title for display.
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets a media type other than JSON.
    pub fn with_mime_type(mut self, mime_type: impl Into<Cow<'static, str>>) -> Self {
        self.mime_type = mime_type.into();
        self
    }
}

// === impl ReadError ===

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unavailable(_) => "the resource is unavailable",
            Self::Failed(_) => "the resource could not be read",
        })
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Unavailable(unavailable) => unavailable,
            Self::Failed(failure) => failure,
        })
    }
}

impl From<Unavailable> for ReadError {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable)
    }
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Failed(match error {
            Error::Reported(reported) => Failure::new(reported.into_text()),
            Error::Failed(failure) => failure,
            other => Failure::new(other.to_string()),
        })
    }
}

impl From<Failure> for ReadError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

// === impl Unavailable ===

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Unavailable {}

impl Unavailable {
    /// Takes a code for programs, such as `DATABASE_NOT_READY`, and a message for the client.
    pub fn new(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            error: true,
            message: message.into(),
            code,
            retryable: false,
        }
    }

    /// Marks the failure as temporary, so that clients try again.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("text and truth values are JSON")
    }
}

// === impl Resources ===

impl Resources {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a resource.
    pub fn with(mut self, resource: impl Into<Resource>) -> Self {
        let resource = resource.into();
        let uri = resource.descriptor.uri.clone();
        Arc::make_mut(&mut self.entries).insert(uri, resource);
        self
    }

    /// Adds a resource template.
    pub fn with_template(mut self, template: impl Into<ResourceTemplate>) -> Self {
        Arc::make_mut(&mut self.templates).push(template.into());
        self
    }

    /// Sets the source of the resources that differ from caller to caller.
    pub fn with_source(mut self, source: impl ResourceSource) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Starts to list a page of the resources that a caller sees, if some differ from caller to
    /// caller.
    pub(super) fn listed(&self, caller: &Caller, page: Option<String>) -> Option<ListFuture> {
        let (source, caller) = (Arc::clone(self.source.as_ref()?), caller.clone());
        let own = self.descriptors().filter(|_| page.is_none());
        let own: Vec<_> = own.cloned().collect();
        Some(Box::pin(async move {
            let found = source.list(caller.clone(), page).await?;
            let all = own.into_iter().chain(found.resources);
            let seen = all.filter(|it| caller.sees(EntryKind::Resource, &it.uri));
            Ok(ResourcePage {
                resources: seen.collect(),
                next: found.next,
            })
        }))
    }

    /// Returns the pattern of the URIs that the source finds.
    pub(super) fn pattern(&self) -> Option<&'static str> {
        self.source.as_ref().map(|source| source.pattern())
    }

    /// Returns the templates, in the order they were added.
    pub(super) fn templates(&self) -> &[ResourceTemplate] {
        &self.templates
    }

    /// Starts to read a resource, or one of a template if there are any, if it exists.
    pub(super) fn read(
        &self,
        uri: &str,
        caller: Caller,
        has_templates: bool,
    ) -> Option<ReadFuture> {
        if let Some(entry) = self.entries.find(uri) {
            let descriptor = Arc::clone(&entry.descriptor);
            return Some(Arc::clone(&entry.reader).start(descriptor, caller));
        }
        let mut templates = self.templates.iter().filter(|_| has_templates);
        let found = templates.find_map(|entry| Some((entry, entry.descriptor.uri.read(uri)?)));
        let Some((entry, placeholders)) = found else {
            let source = Arc::clone(self.source.as_ref()?);
            return Some(source.start(uri.to_owned(), caller));
        };
        let template = Arc::clone(&entry.reader);
        Some(template.start(&entry.descriptor, uri.to_owned(), placeholders, caller))
    }

    /// Returns whether there is neither a resource nor a template.
    pub(super) fn is_empty(&self) -> bool {
        self.source.is_none() && self.templates.is_empty() && self.entries.iter().next().is_none()
    }

    /// Returns all resources, by URI.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = &ResourceDescriptor> {
        self.entries.iter().map(|entry| &*entry.descriptor)
    }

    pub(super) fn check(&self) -> Result<(), SetupError> {
        match self.entries.duplicate() {
            Some(uri) => Err(SetupError::DuplicateResource(uri.to_owned())),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Resources").field(&self.entries).finish()
    }
}
