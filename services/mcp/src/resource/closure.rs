//! Resources made from closures, and from types that implement [`ResourceHandler`].

use std::{borrow::Cow, fmt, marker::PhantomData, sync::Arc};

use crate::{
    Caller, Error, ReadError, ResourceDescriptor, ResourceHandler,
    resource::{AnyResource, Contents, ReadFuture},
};

/// A document that a client can read by its URI.
///
/// It is made from a closure, or from a type that implements [`ResourceHandler`].
///
/// ```
/// use ziggurat_mcp::{Error, Resource};
///
/// let motd = Resource::new("file:///etc/motd", "motd", "The message of the day.", || async {
///     std::fs::read_to_string("/etc/motd").map_err(Error::internal)
/// });
/// # let _ = motd.with_mime_type("text/plain");
/// ```
#[derive(Clone)]
#[must_use]
pub struct Resource {
    pub(super) descriptor: Arc<ResourceDescriptor>,
    pub(super) reader: Arc<dyn AnyResource>,
}

/// A closure that can be a resource: it takes nothing, or the [`Caller`], and returns a future of
/// the text.
///
/// `M` only tells the two apart.
pub trait ResourceClosure<M>: Send + Sync + 'static {
    /// Calls the closure.
    fn read(&self, caller: Caller) -> impl Future<Output = Result<String, Error>> + Send;
}

/// A closure as a type-erased resource.
struct Closure<C, M> {
    closure: C,
    kind: PhantomData<fn() -> M>,
}

/// A handler as a type-erased resource.
struct Handler<T>(T);

// === impl ResourceClosure ===

impl<C, F> ResourceClosure<()> for C
where
    C: Fn() -> F + Send + Sync + 'static,
    F: Future<Output = Result<String, Error>> + Send,
{
    async fn read(&self, _: Caller) -> Result<String, Error> {
        self().await
    }
}

impl<C, F> ResourceClosure<(Caller,)> for C
where
    C: Fn(Caller) -> F + Send + Sync + 'static,
    F: Future<Output = Result<String, Error>> + Send,
{
    async fn read(&self, caller: Caller) -> Result<String, Error> {
        self(caller).await
    }
}

// === impl AnyResource ===

impl<C: ResourceClosure<M>, M: 'static> AnyResource for Closure<C, M> {
    fn start(self: Arc<Self>, descriptor: Arc<ResourceDescriptor>, caller: Caller) -> ReadFuture {
        read(
            descriptor,
            async move { Ok(self.closure.read(caller).await?) },
        )
    }
}

impl<T: ResourceHandler> AnyResource for Handler<T> {
    fn start(self: Arc<Self>, descriptor: Arc<ResourceDescriptor>, caller: Caller) -> ReadFuture {
        read(descriptor, async move { self.0.read(caller).await })
    }
}

fn read(
    descriptor: Arc<ResourceDescriptor>,
    text: impl Future<Output = Result<String, ReadError>> + Send + 'static,
) -> ReadFuture {
    Box::pin(async move {
        let text = async { text.await.map(Some) };
        let (uri, mime_type) = (descriptor.uri.clone(), descriptor.mime_type.clone());
        let mut contents = Contents::read(text, uri, mime_type).await?;
        if let Some(contents) = &mut contents {
            contents.is_blob = descriptor.is_blob;
        }
        Ok(contents)
    })
}

// === impl Resource ===

impl Resource {
    /// Makes a resource from a closure. It is JSON unless a media type is set.
    pub fn new<M: 'static>(
        uri: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        closure: impl ResourceClosure<M>,
    ) -> Self {
        let kind = PhantomData;
        Self {
            descriptor: Arc::new(ResourceDescriptor::new(uri, name, description)),
            reader: Arc::new(Closure { closure, kind }),
        }
    }

    /// Sets a media type other than JSON.
    pub fn with_mime_type(self, mime_type: impl Into<Cow<'static, str>>) -> Self {
        self.describe(|descriptor| descriptor.with_mime_type(mime_type))
    }

    /// Adds a title for display.
    pub fn with_title(self, title: impl Into<Cow<'static, str>>) -> Self {
        self.describe(|descriptor| descriptor.with_title(title))
    }

    /// Marks the text as bytes in Base64.
    pub fn with_bytes(self) -> Self {
        self.describe(ResourceDescriptor::with_bytes)
    }

    fn describe(self, change: impl FnOnce(ResourceDescriptor) -> ResourceDescriptor) -> Self {
        Self {
            descriptor: Arc::new(change(Arc::unwrap_or_clone(self.descriptor))),
            reader: self.reader,
        }
    }
}

impl<T: ResourceHandler> From<T> for Resource {
    fn from(handler: T) -> Self {
        Self {
            descriptor: Arc::new(handler.describe()),
            reader: Arc::new(Handler(handler)),
        }
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Resource")
            .field(&self.descriptor.uri)
            .finish()
    }
}
