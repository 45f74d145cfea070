//! Resource templates made from closures, and from types that implement [`TemplateHandler`].

use std::{borrow::Cow, fmt, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;

use crate::{
    Caller, EntryKind, Error, Placeholders, ReadError, ResourceTemplateDescriptor, TemplateHandler,
    resource::{
        Contents, ReadFuture,
        template::{AnyTemplate, CompleteFuture},
    },
};

/// A family of resources, each of which can be read by its URI.
///
/// It is made from a closure, or from a type that implements [`TemplateHandler`]. It is not offered
/// in calls that are answered exactly as in revision 2024-11-05.
///
/// ```
/// use ziggurat_mcp::{Placeholders, ResourceTemplate};
///
/// let read = |placeholders: Placeholders| async move {
///     let city = placeholders.get("city").unwrap_or_default();
///     Ok((city == "ur").then(|| r#"{"ziggurat":true}"#.to_owned()))
/// };
/// let cities = ResourceTemplate::new("city://{city}", "city", "Facts about a city.", read)
///     .with_completion(|_, placeholders: Placeholders| async move {
///         let begun = placeholders.get("city").unwrap_or_default().to_owned();
///         let cities = ["eridu", "ur", "uruk"].into_iter().map(str::to_owned);
///         cities.filter(|city| city.starts_with(&begun)).collect()
///     });
/// # let _ = cities;
/// ```
#[derive(Clone)]
#[must_use]
pub struct ResourceTemplate {
    pub(crate) descriptor: ResourceTemplateDescriptor,
    pub(crate) reader: Arc<dyn AnyTemplate>,
    completion: Option<Arc<Complete>>,
}

/// Returns the values for a placeholder.
type Complete = dyn Fn(String, Placeholders) -> CompleteFuture + Send + Sync;

/// A closure as a type-erased template.
struct Closure<C>(C);

/// A handler as a type-erased template.
struct Handler<T>(T);

// === impl AnyTemplate ===

impl<C, F> AnyTemplate for Closure<C>
where
    C: Fn(Placeholders) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Option<String>, Error>> + Send + 'static,
{
    fn start(
        self: Arc<Self>,
        descriptor: &ResourceTemplateDescriptor,
        uri: String,
        placeholders: Placeholders,
        _: Caller,
    ) -> ReadFuture {
        let text = async move { Ok((self.0)(placeholders).await?) };
        read(descriptor, uri, text)
    }

    fn complete(self: Arc<Self>, _: String, _: Placeholders, _: Caller) -> CompleteFuture {
        Box::pin(async { Vec::new() })
    }
}

impl<T: TemplateHandler> AnyTemplate for Handler<T> {
    fn start(
        self: Arc<Self>,
        descriptor: &ResourceTemplateDescriptor,
        uri: String,
        placeholders: Placeholders,
        caller: Caller,
    ) -> ReadFuture {
        let text = async move { self.0.read(placeholders, caller).await };
        read(descriptor, uri, text)
    }

    fn complete(
        self: Arc<Self>,
        name: String,
        placeholders: Placeholders,
        caller: Caller,
    ) -> CompleteFuture {
        Box::pin(async move { self.0.complete(name, placeholders, caller).await })
    }
}

fn read(
    descriptor: &ResourceTemplateDescriptor,
    uri: String,
    text: impl Future<Output = Result<Option<String>, ReadError>> + Send + 'static,
) -> ReadFuture {
    let mime_type = descriptor.mime_type.clone();
    Box::pin(Contents::read(text, Cow::Owned(uri), mime_type))
}

// === impl ResourceTemplate ===

impl ResourceTemplate {
    /// Makes a template from a closure, which returns `None` for a resource that does not exist.
    /// The resources are JSON.
    ///
    /// Each placeholder is one segment of the path.
    pub fn new<F>(
        uri: &'static str,
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        read: impl Fn(Placeholders) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Option<String>, Error>> + Send + 'static,
    {
        Self {
            descriptor: ResourceTemplateDescriptor::new(uri, name, description),
            reader: Arc::new(Closure(read)),
            completion: None,
        }
    }

    /// Sets the values for a placeholder, by its name, the likeliest first: all should begin with
    /// the text that the placeholders have for it.
    pub fn with_completion<F>(
        mut self,
        complete: impl Fn(String, Placeholders) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Vec<String>> + Send + 'static,
    {
        self.completion = Some(Arc::new(move |name, placeholders| {
            Box::pin(complete(name, placeholders))
        }));
        self
    }

    /// Adds a title for display.
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.descriptor = self.descriptor.with_title(title);
        self
    }

    /// Starts to complete a placeholder, with values of resources that the caller sees.
    pub(crate) fn complete_for(
        &self,
        name: String,
        placeholders: Placeholders,
        caller: Caller,
    ) -> CompleteFuture {
        let Some(view) = caller.view().cloned() else {
            return self.complete(name, placeholders, caller);
        };
        let values = self.complete(name.clone(), placeholders.clone(), caller);
        let (template, mut placeholders) = (self.descriptor.uri.clone(), placeholders);
        Box::pin(async move {
            let mut values = values.await;
            values.retain(|value| {
                placeholders.insert(name.clone(), value.clone());
                view.sees(EntryKind::ResourceTemplate, &template.fill(&placeholders))
            });
            values
        })
    }

    /// Starts to complete a placeholder. A panic gives no values.
    fn complete(&self, name: String, placeholders: Placeholders, caller: Caller) -> CompleteFuture {
        let (completion, reader) = (self.completion.clone(), Arc::clone(&self.reader));
        let values = async move {
            match completion {
                Some(complete) => complete(name, placeholders).await,
                None => reader.complete(name, placeholders, caller).await,
            }
        };
        Box::pin(async move {
            let values = AssertUnwindSafe(values).catch_unwind();
            values.await.unwrap_or_default()
        })
    }
}

impl<T: TemplateHandler> From<T> for ResourceTemplate {
    fn from(handler: T) -> Self {
        Self {
            descriptor: handler.describe(),
            reader: Arc::new(Handler(handler)),
            completion: None,
        }
    }
}

impl fmt::Debug for ResourceTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResourceTemplate")
            .field(&self.descriptor.uri.as_str())
            .finish()
    }
}
