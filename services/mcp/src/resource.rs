//! What a resource is.

use std::{borrow::Cow, fmt, panic::AssertUnwindSafe, pin::Pin, sync::Arc};

use futures_util::FutureExt as _;
use serde::Serialize;

use crate::{
    Caller, Failure, ResourceTemplate, ResourceTemplateDescriptor, SetupError,
    register::Register,
    template::{AnyTemplate, ReadFuture as TemplatedFuture},
};

/// Something a client can read by its URI.
///
/// ```
/// use ziggurat_mcp::{Caller, ReadError, Resource, ResourceDescriptor, Resources};
///
/// struct Limits;
///
/// impl Resource for Limits {
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
pub trait Resource: Send + Sync + 'static {
    /// Says what the resource is called and holds; asked once.
    fn describe(&self) -> ResourceDescriptor;

    /// Reads its text.
    ///
    /// It is held whole: a resource that reads rows limits them.
    fn read(&self, caller: Caller) -> impl Future<Output = Result<String, ReadError>> + Send;
}

/// What clients are told about a resource.
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

/// Why a resource could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// What it reads from is out of reach: the client reads a text that says so.
    #[error("the resource is unavailable")]
    Unavailable(#[source] Unavailable),
    /// The client gets an error of the protocol.
    #[error("the resource could not be read")]
    Failed(#[source] Failure),
}

/// What a resource says instead of its text while it cannot be read.
#[derive(Clone, Debug, Serialize, thiserror::Error)]
#[error("{code}: {message}")]
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
    resources: Arc<Register<Entry>>,
    templates: Arc<Vec<TemplateEntry>>,
}

#[derive(Clone)]
pub(super) struct TemplateEntry {
    pub(super) descriptor: ResourceTemplateDescriptor,
    pub(super) template: Arc<dyn AnyTemplate>,
}

#[derive(Clone)]
struct Entry {
    descriptor: Arc<ResourceDescriptor>,
    resource: Arc<dyn AnyResource>,
}

/// A resource that has been read.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) uri: Cow<'static, str>,
    pub(super) mime_type: Cow<'static, str>,
    /// Bytes in Base64, if it is not text.
    pub(super) is_blob: bool,
    pub(super) text: String,
}

/// The future of a resource whose type is forgotten.
// Boxed: resources differ in their futures, and reading one is rare.
pub(super) type ReadFuture = Pin<Box<dyn Future<Output = Result<Contents, Failure>> + Send>>;

/// A resource whose type is forgotten.
trait AnyResource: Send + Sync {
    fn start(self: Arc<Self>, descriptor: Arc<ResourceDescriptor>, caller: Caller) -> ReadFuture;
}

// === impl AnyResource ===

impl<R: Resource> AnyResource for R {
    fn start(self: Arc<Self>, descriptor: Arc<ResourceDescriptor>, caller: Caller) -> ReadFuture {
        Box::pin(async move {
            let uri = descriptor.uri.clone();
            let read = AssertUnwindSafe(self.read(caller)).catch_unwind();
            let read = read
                .await
                .unwrap_or_else(|_| Err(Failure::panicked().into()));
            match read {
                Ok(text) => Ok(Contents {
                    uri,
                    mime_type: descriptor.mime_type.clone(),
                    is_blob: descriptor.is_blob,
                    text,
                }),
                Err(ReadError::Unavailable(unavailable)) => {
                    Ok(Contents::unavailable(uri, &unavailable))
                }
                Err(ReadError::Failed(failure)) => Err(failure),
            }
        })
    }
}

// === impl Contents ===

impl Contents {
    pub(super) fn text(uri: Cow<'static, str>, mime_type: Cow<'static, str>, text: String) -> Self {
        Self {
            uri,
            mime_type,
            is_blob: false,
            text,
        }
    }

    pub(super) fn unavailable(uri: Cow<'static, str>, unavailable: &Unavailable) -> Self {
        let mime_type = Cow::Borrowed("application/json");
        Self::text(uri, mime_type, unavailable.to_json())
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

    /// Says that what is read is bytes in Base64.
    pub fn with_bytes(mut self) -> Self {
        self.is_blob = true;
        self
    }

    /// Adds a name for people.
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets another media type.
    pub fn with_mime_type(mut self, mime_type: impl Into<Cow<'static, str>>) -> Self {
        self.mime_type = mime_type.into();
        self
    }
}

// === impl ReadError ===

impl From<Unavailable> for ReadError {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable)
    }
}

impl From<Failure> for ReadError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

// === impl Unavailable ===

impl Unavailable {
    /// Says why, in words for the client, under a code for programs (`DATABASE_NOT_READY`).
    pub fn new(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            error: true,
            message: message.into(),
            code,
            retryable: false,
        }
    }

    /// Says that it is worth trying again.
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
    pub fn with(mut self, resource: impl Resource) -> Self {
        let descriptor = Arc::new(resource.describe());
        let uri = descriptor.uri.clone();
        let resource = Arc::new(resource);
        let entry = Entry {
            descriptor,
            resource,
        };
        Arc::make_mut(&mut self.resources).insert(uri, entry);
        self
    }

    /// Adds a family of resources.
    pub fn with_template(mut self, template: impl ResourceTemplate) -> Self {
        let entry = TemplateEntry {
            descriptor: template.describe(),
            template: Arc::new(template),
        };
        Arc::make_mut(&mut self.templates).push(entry);
        self
    }

    /// The families, in the order they were added.
    pub(super) fn templates(&self) -> &[TemplateEntry] {
        &self.templates
    }

    /// Begins to read a resource of a family, if it may be one.
    pub(super) fn read_templated(&self, uri: &str, caller: Caller) -> Option<TemplatedFuture> {
        let mut templates = self.templates.iter();
        let (entry, places) =
            templates.find_map(|entry| Some((entry, entry.descriptor.uri.read(uri)?)))?;
        let template = Arc::clone(&entry.template);
        Some(template.start(&entry.descriptor, uri.to_owned(), places, caller))
    }

    /// Begins to read a resource, if there is one: that is settled before anything is touched.
    pub(super) fn read(&self, uri: &str, caller: Caller) -> Option<ReadFuture> {
        let entry = self.resources.find(uri)?;
        let descriptor = Arc::clone(&entry.descriptor);
        Some(Arc::clone(&entry.resource).start(descriptor, caller))
    }

    /// All resources, by URI.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = &ResourceDescriptor> {
        self.resources.iter().map(|entry| &*entry.descriptor)
    }

    pub(super) fn check(&self) -> Result<(), SetupError> {
        match self.resources.duplicate() {
            Some(uri) => Err(SetupError::DuplicateResource(uri.to_owned())),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Resources").field(&self.resources).finish()
    }
}
