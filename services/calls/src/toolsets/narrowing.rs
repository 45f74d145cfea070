//! Requests for less than a caller has.

use std::sync::Arc;

use ziggurat_text::percent;

use crate::toolsets::patterns::Patterns;

/// Greatest number of tools in a query.
const MAX_NAMES: usize = 100;

/// Parameter of a query that names tools.
const TOOLS: &str = "tools";

/// A request for less than the caller has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrowing {
    toolset: Option<Arc<str>>,
    tools: Option<Arc<Patterns>>,
}

/// A query names more than 100 tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyNames;

// === impl Narrowing ===

impl Narrowing {
    /// Takes the name of a toolset, and the query of a request, of which it reads `tools`. Returns
    /// `None` if neither takes anything away.
    ///
    /// # Errors
    /// Fails if more than 100 tools are named.
    pub fn new(toolset: Option<&str>, query: Option<&str>) -> Result<Option<Self>, TooManyNames> {
        let tools = tools(query.unwrap_or_default())?;
        if toolset.is_none() && tools.is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            toolset: toolset.map(Arc::from),
            tools: tools.map(Arc::new),
        }))
    }

    pub(crate) fn toolset(&self) -> Option<&str> {
        self.toolset.as_deref()
    }

    pub(crate) fn tools(&self) -> Option<&Arc<Patterns>> {
        self.tools.as_ref()
    }
}

/// Returns the tools that a query names; `None` if it has no such parameter.
fn tools(query: &str) -> Result<Option<Patterns>, TooManyNames> {
    let parameters = query.split('&');
    let lists = parameters.filter_map(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        // A value that cannot be decoded names no tool.
        let value = percent::decode(value).unwrap_or_default();
        (percent::decode(name)? == TOOLS).then_some(value)
    });
    let lists: Vec<_> = lists.collect();
    if lists.is_empty() {
        return Ok(None);
    }
    let names = lists.iter().flat_map(|list| list.split(','));
    let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    if names.len() > MAX_NAMES {
        return Err(TooManyNames);
    }
    Ok(Some(names.into_iter().map(str::to_owned).collect()))
}
