//! The methods and names that an identity may use.

use std::{collections::BTreeSet, sync::Arc};

use crate::dot_segments::has_dot_segment;

/// Methods without names that set up a conversation or report on its calls.
const LIFECYCLE: [&str; 7] = [
    "initialize",
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/progress",
    "notifications/roots/list_changed",
    "ping",
    "server/discover",
];

/// Methods that name or list tools, prompts or resources. The names, and the items of the results,
/// are checked against the other lists.
const NAMING: [&str; 11] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// The methods, tools, prompts and resources that an identity may use.
///
/// Start from [`nothing`](Self::nothing) and add the allowed names. Clones share their lists, so an
/// `Access` can itself be the identity of a token.
///
/// An entry that ends in `*` allows all names that begin with the rest of it. Names are compared
/// byte by byte and nothing is normalised: `HTTP://a/` is not `http://a/`. A name with a `.` or
/// `..` segment, percent-encoded or not, matches no entry with `*` but `*` alone, because a server
/// that resolves such segments would find another resource. End a prefix of URIs with a slash:
/// `https://docs.example*` also allows `https://docs.example.org/`.
///
/// ```
/// use ziggurat_layers::mcp::Access;
///
/// let access = Access::nothing()
///     .with_tools(["search", "report_*"])
///     .with_resources(["file:///handbook/*"]);
/// assert!(access.allows_tool("report_sales"));
/// assert!(!access.allows_tool("drop_database"));
/// assert!(!access.allows_resource("file:///handbook/../etc/passwd"));
/// assert!(!access.allows_prompt("summary"), "not listed");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Access(Arc<Lists>);

#[derive(Clone, Debug)]
struct Lists {
    methods: NameList,
    tools: NameList,
    prompts: NameList,
    resources: NameList,
}

#[derive(Clone, Debug, Default)]
struct NameList {
    exact: BTreeSet<String>,
    prefixes: Vec<String>,
}

// === impl Access ===

impl Access {
    /// Allows no tool, no prompt and no resource.
    ///
    /// The methods that set up a conversation are always allowed, such as `initialize`, `ping` and
    /// `server/discover`. Methods that name or list tools, prompts and resources are allowed, too:
    /// their lists are empty for this identity. All other methods, such as `tasks/get`, have to be
    /// listed with [`with_methods`](Self::with_methods).
    ///
    /// ```
    /// use ziggurat_layers::mcp::Access;
    ///
    /// let access = Access::nothing();
    /// assert!(access.allows_method("tools/list") && !access.allows_method("tasks/get"));
    /// assert!(!access.allows_tool("search"));
    /// ```
    pub fn nothing() -> Self {
        Self(Arc::new(Lists {
            methods: NAMING.into_iter().collect(),
            tools: NameList::default(),
            prompts: NameList::default(),
            resources: NameList::default(),
        }))
    }

    /// Allows everything.
    ///
    /// Not a start for a list of exceptions: methods of a later revision are allowed too, and this
    /// layer does not know the names in their params.
    ///
    /// ```
    /// use ziggurat_layers::mcp::Access;
    ///
    /// assert!(Access::everything().allows_tool("drop_database"));
    /// ```
    pub fn everything() -> Self {
        let all = || NameList::from_iter(["*"]);
        Self(Arc::new(Lists {
            methods: all(),
            tools: all(),
            prompts: all(),
            resources: all(),
        }))
    }

    /// Allows these methods and no others but those that set up a conversation.
    ///
    /// Replaces the methods of [`nothing`](Self::nothing), so that `tools/list` has to be listed
    /// again. Names in the params of other methods than those are not checked.
    ///
    /// ```
    /// use ziggurat_layers::mcp::Access;
    ///
    /// let access = Access::nothing().with_methods(["tools/list", "tools/call", "tasks/*"]);
    /// assert!(access.allows_method("tasks/get") && access.allows_method("ping"));
    /// assert!(!access.allows_method("resources/read"));
    /// ```
    pub fn with_methods(self, methods: impl IntoIterator<Item: AsRef<str>>) -> Self {
        self.with(|lists| &mut lists.methods, methods)
    }

    /// Allows these tools and no others.
    ///
    /// ```
    /// use ziggurat_layers::mcp::Access;
    ///
    /// assert!(Access::nothing().with_tools(["search"]).allows_tool("search"));
    /// ```
    pub fn with_tools(self, tools: impl IntoIterator<Item: AsRef<str>>) -> Self {
        self.with(|lists| &mut lists.tools, tools)
    }

    /// Allows these prompts and no others.
    ///
    /// ```
    /// use ziggurat_layers::mcp::Access;
    ///
    /// assert!(Access::nothing().with_prompts(["summary"]).allows_prompt("summary"));
    /// ```
    pub fn with_prompts(self, prompts: impl IntoIterator<Item: AsRef<str>>) -> Self {
        self.with(|lists| &mut lists.prompts, prompts)
    }

    /// Allows the resources with these URIs and no others.
    ///
    /// A template is listed if its text is allowed, braces included: `file:///handbook/{page}`. Its
    /// text alone allows no resource that it expands to; for these, list a prefix.
    ///
    /// ```
    /// use ziggurat_layers::mcp::Access;
    ///
    /// let access = Access::nothing().with_resources(["file:///handbook/*", "db://status"]);
    /// assert!(access.allows_resource("file:///handbook/{page}"));
    /// assert!(!access.allows_resource("db://status/"));
    /// ```
    pub fn with_resources(self, uris: impl IntoIterator<Item: AsRef<str>>) -> Self {
        self.with(|lists| &mut lists.resources, uris)
    }

    /// Returns whether a method is allowed.
    ///
    /// ```
    /// assert!(ziggurat_layers::mcp::Access::nothing().allows_method("initialize"));
    /// ```
    #[must_use]
    pub fn allows_method(&self, method: &str) -> bool {
        LIFECYCLE.contains(&method) || self.0.methods.contain(method)
    }

    /// Returns whether a tool is allowed.
    ///
    /// ```
    /// assert!(!ziggurat_layers::mcp::Access::nothing().allows_tool("search"));
    /// ```
    #[must_use]
    pub fn allows_tool(&self, name: &str) -> bool {
        self.0.tools.contain(name)
    }

    /// Returns whether a prompt is allowed.
    ///
    /// ```
    /// assert!(!ziggurat_layers::mcp::Access::nothing().allows_prompt("summary"));
    /// ```
    #[must_use]
    pub fn allows_prompt(&self, name: &str) -> bool {
        self.0.prompts.contain(name)
    }

    /// Returns whether the resource with this URI, or this URI template, is allowed.
    ///
    /// ```
    /// assert!(!ziggurat_layers::mcp::Access::nothing().allows_resource("file:///etc/passwd"));
    /// ```
    #[must_use]
    pub fn allows_resource(&self, uri: &str) -> bool {
        self.0.resources.contain(uri)
    }

    /// Returns whether there are names that this identity may not use.
    pub(super) fn hides_names(&self) -> bool {
        let lists = [&self.0.tools, &self.0.prompts, &self.0.resources];
        lists.iter().any(|list| !list.are_unlimited())
    }

    fn with(
        mut self,
        list: fn(&mut Lists) -> &mut NameList,
        names: impl IntoIterator<Item: AsRef<str>>,
    ) -> Self {
        *list(Arc::make_mut(&mut self.0)) = names.into_iter().collect();
        self
    }
}

// === impl NameList ===

impl<T: AsRef<str>> FromIterator<T> for NameList {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let mut all = Self::default();
        for name in names {
            match name.as_ref().strip_suffix('*') {
                Some(prefix) => all.prefixes.push(prefix.to_owned()),
                None => _ = all.exact.insert(name.as_ref().to_owned()),
            }
        }
        all
    }
}

impl NameList {
    fn are_unlimited(&self) -> bool {
        self.prefixes.iter().any(String::is_empty)
    }

    fn contain(&self, name: &str) -> bool {
        let begins = |prefix: &String| {
            prefix.is_empty() || (name.starts_with(&**prefix) && !may_lead_elsewhere(name))
        };
        self.exact.contains(name) || self.prefixes.iter().any(begins)
    }
}

/// Returns whether a server may understand a URI as another one, outside of its prefix.
fn may_lead_elsewhere(uri: &str) -> bool {
    // URL parsers remove tabs and line feeds, so that `.\t.` becomes a segment (WHATWG URL).
    uri.contains(char::is_control) || has_dot_segment(uri)
}
