//! Resource templates: URIs with placeholders.

mod closure;

use std::{borrow::Cow, collections::BTreeMap, fmt, pin::Pin, sync::Arc};

use ziggurat_text::percent;

use crate::{Caller, ReadError, resource::ReadFuture};

pub use self::closure::ResourceTemplate;

/// Limit on the characters of a value.
const MAX_VALUE: usize = 1024;

/// A resource template as a type; see [`ResourceTemplate`] for closures.
///
/// Not offered in calls that are answered exactly as in revision 2024-11-05.
pub trait TemplateHandler: Send + Sync + 'static {
    /// Returns the URI template and a description; called once.
    fn describe(&self) -> ResourceTemplateDescriptor;

    /// Reads the text of a resource, or returns `None` if it does not exist.
    fn read(
        &self,
        placeholders: Placeholders,
        caller: Caller,
    ) -> impl Future<Output = Result<Option<String>, ReadError>> + Send;

    /// Returns values for a placeholder, the likeliest first: all begin with the text that
    /// `placeholders` has for it. Other values may be set already.
    fn complete(
        &self,
        name: String,
        placeholders: Placeholders,
        caller: Caller,
    ) -> impl Future<Output = Vec<String>> + Send;
}

/// Description of a resource template for clients.
#[derive(Clone, Debug)]
#[must_use]
pub struct ResourceTemplateDescriptor {
    pub(crate) uri: UriTemplate,
    pub(crate) name: Cow<'static, str>,
    pub(crate) title: Option<Cow<'static, str>>,
    pub(crate) description: Cow<'static, str>,
    pub(crate) mime_type: Cow<'static, str>,
}

/// The values of a template's placeholders, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placeholders(BTreeMap<String, String>);

/// A URI template in the simplest form of RFC 6570.
#[derive(Clone, Debug)]
pub(crate) struct UriTemplate {
    text: &'static str,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Literal(&'static str),
    Placeholder(&'static str),
}

/// The future of the values of a placeholder.
// Boxed: each template has another future type, and completions are rare.
pub(crate) type CompleteFuture = Pin<Box<dyn Future<Output = Vec<String>> + Send>>;

/// A type-erased template.
pub(crate) trait AnyTemplate: Send + Sync {
    fn start(
        self: Arc<Self>,
        descriptor: &ResourceTemplateDescriptor,
        uri: String,
        placeholders: Placeholders,
        caller: Caller,
    ) -> ReadFuture;

    fn complete(
        self: Arc<Self>,
        name: String,
        placeholders: Placeholders,
        caller: Caller,
    ) -> CompleteFuture;
}

// === impl ResourceTemplateDescriptor ===

impl ResourceTemplateDescriptor {
    /// Describes resources that are JSON, at URIs such as `pg://{schema}/{table}`.
    pub fn new(
        uri: &'static str,
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            uri: UriTemplate::new(uri),
            name: name.into(),
            title: None,
            description: description.into(),
            mime_type: Cow::Borrowed("application/json"),
        }
    }

    /// Adds a title for display.
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the media type of the resources, if it is not JSON.
    pub fn with_mime_type(mut self, mime_type: impl Into<Cow<'static, str>>) -> Self {
        self.mime_type = mime_type.into();
        self
    }
}

// === impl Placeholders ===

impl Placeholders {
    /// Returns the value of a placeholder, if it has one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn insert(&mut self, name: String, value: String) {
        self.0.insert(name, value);
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Placeholders {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(placeholders: I) -> Self {
        let placeholders = placeholders.into_iter();
        Self(
            placeholders
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

// === impl UriTemplate ===

impl UriTemplate {
    fn new(text: &'static str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, behind)) = rest.split_once('{') {
            let (name, behind) = behind.split_once('}').unwrap_or((behind, ""));
            parts.extend([Part::Literal(literal), Part::Placeholder(name)]);
            rest = behind;
        }
        parts.push(Part::Literal(rest));
        Self { text, parts }
    }

    pub(crate) fn as_str(&self) -> &'static str {
        self.text
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        let is_it = |part: &Part| matches!(part, Part::Placeholder(other) if *other == name);
        self.parts.iter().any(is_it)
    }

    /// Replaces the placeholders that have a value.
    pub(super) fn fill(&self, placeholders: &Placeholders) -> String {
        let mut filled = String::with_capacity(self.text.len());
        for part in &self.parts {
            match part {
                Part::Literal(literal) => filled.push_str(literal),
                Part::Placeholder(name) => match placeholders.get(name) {
                    Some(value) => filled.extend(percent::encode(value)),
                    None => filled.extend(["{", name, "}"]),
                },
            }
        }
        filled
    }

    /// Returns the values in a URI, if it matches the template.
    pub(super) fn read(&self, uri: &str) -> Option<Placeholders> {
        let mut placeholders = Placeholders::default();
        let mut rest = uri;
        for part in &self.parts {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal)?,
                Part::Placeholder(name) => {
                    let end = rest.find('/').unwrap_or(rest.len());
                    let (value, behind) = rest.split_at(end);
                    if value.is_empty() || value.len() > MAX_VALUE {
                        return None;
                    }
                    placeholders.insert((*name).to_owned(), percent::decode(value)?.into_owned());
                    rest = behind;
                }
            }
        }
        rest.is_empty().then_some(placeholders)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_matches_a_template_if_every_placeholder_has_a_value() {
        let template = UriTemplate::new("pg://{schema}/{table}/data");
        let cases: [(&str, Option<[&str; 2]>); 9] = [
            ("pg://public/ware/data", Some(["public", "ware"])),
            ("pg://a%20b/%C3%A4%2F/data", Some(["a b", "ä/"])),
            ("pg://public/ware", None),
            ("pg://public//data", None),
            ("pg://public/ware/data/", None),
            ("pg://public/a/b/data", None),
            ("PG://public/ware/data", None),
            ("pg://public/%zz/data", None),
            ("pg://public/%ff/data", None),
        ];
        for (uri, expected) in cases {
            let expected = expected.map(|[schema, table]| {
                Placeholders::from_iter([("schema", schema), ("table", table)])
            });
            assert_eq!(template.read(uri), expected, "{uri}");
        }
        let placeholders = Placeholders::from_iter([("schema", "a b/{c}")]);
        let filled = "pg://a%20b%2F%7Bc%7D/{table}/data";
        assert_eq!(template.fill(&placeholders), filled);
        assert!(template.has("table") && !template.has("data"));
        let plain = UriTemplate::new("pg://info");
        assert_eq!(plain.read("pg://info"), Some(Placeholders::default()));
    }
}
