//! Names that a caller sees: the toolsets, applied to calls.

use std::sync::Arc;

use ziggurat_accounts::UserFile;
use ziggurat_calls::{
    Caller,
    toolsets::{Area, Offered, Toolsets, View as Seen},
};
use ziggurat_layers::json_rpc::Call;
use ziggurat_mcp::{self as mcp, Access, EntryKind, Mcp, View};
use ziggurat_query_api::QueryRights;
use ziggurat_tokens::{CallerId, TokenFile};

use crate::{
    configuration::{Auth, BUILTIN_PROMPTS, Builtins, Configuration, LoadError},
    interface::LOGIN,
};

/// The tool with which callers run statements.
const QUERY_DATABASE: &str = "query_database";

/// The tool with which an operator switches off what shows tables.
const GET_SCHEMA_INFO: &str = "get_schema_info";

/// Applies the toolsets of a configuration. Without any, all callers see everything, but API tokens
/// with toolsets of their own, which do not exist then, see nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolAccess {
    toolsets: Option<Arc<Toolsets>>,
    /// Without a set.
    empty: Arc<Toolsets>,
    names: Arc<Names>,
}

/// Names that the server offers.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tools: Vec<String>,
    resources: Vec<String>,
    templates: Vec<String>,
    prompts: Vec<String>,
    /// Tools that the operator has switched off.
    tools_off: Vec<&'static str>,
}

/// Names that a caller sees during one call.
#[derive(Debug)]
pub(crate) struct CallerView {
    seen: Seen,
    names: Arc<Names>,
}

// === impl ToolAccess ===

impl ToolAccess {
    /// Applies toolsets that have been checked to the names of a service.
    pub(crate) fn new(toolsets: Option<Toolsets>, names: Names) -> Self {
        Self {
            toolsets: toolsets.map(Arc::new),
            empty: Arc::default(),
            names: Arc::new(names),
        }
    }

    /// Returns the toolsets that apply to a caller, if some do.
    pub(crate) fn applied(&self, caller: &CallerId<'_>) -> Option<&Arc<Toolsets>> {
        let empty = (!caller.toolsets().is_empty()).then_some(&self.empty);
        self.toolsets.as_ref().or(empty)
    }

    /// Returns the areas of the REST API that a caller sees.
    pub(crate) fn areas(&self, caller: &CallerId<'_>) -> Vec<Area> {
        let seen = self.applied(caller).map(|it| it.view(caller, None));
        let mut areas = Area::ALL.to_vec();
        areas.retain(|area| seen.as_ref().is_none_or(|seen| seen.has_area(*area)));
        areas
    }

    /// Returns whether there is a toolset of this name.
    pub(crate) fn has_toolset(&self, name: &str) -> bool {
        let toolsets = self.toolsets.as_ref();
        toolsets.is_some_and(|toolsets| toolsets.names().contains(&name))
    }

    /// Returns whether a caller sees a tool, if the tool exists for it.
    pub(crate) fn has_tool(&self, caller: &CallerId<'_>, tool: &str) -> bool {
        let toolsets = self.applied(caller);
        toolsets.is_none_or(|it| it.view(caller, None).has_tool(tool))
    }

    /// Returns what a caller may do at the endpoints for statements. Where there are toolsets, one of
    /// the caller's names the area, or it would not come so far.
    pub(crate) fn query_rights(&self, caller: &CallerId<'_>) -> QueryRights {
        let is_person = matches!(caller.parts().0, "local:" | "user:");
        let is_on = !self.names.tools_off.contains(&QUERY_DATABASE);
        QueryRights {
            has_query: is_on && self.has_tool(caller, QUERY_DATABASE),
            has_schema: !self.names.tools_off.contains(&GET_SCHEMA_INFO),
            is_unlimited: is_person || self.toolsets.is_some(),
        }
    }

    /// Returns what a caller sees; `None` if it sees everything.
    pub(crate) fn of(&self, caller: &mcp::Caller) -> Option<Arc<CallerView>> {
        let caller_id = Caller::new(caller.extension()).id();
        let toolsets = self.applied(&caller_id)?;
        let seen = toolsets.view(&caller_id, caller.extension());
        let names = Arc::clone(&self.names);
        Some(Arc::new(CallerView { seen, names }))
    }
}

impl Access for ToolAccess {
    fn view(&self, caller: &mcp::Caller) -> Option<Arc<dyn View>> {
        // Made already if the call is observed.
        let view: Option<&Arc<CallerView>> = caller.extension();
        let view = view.cloned().or_else(|| self.of(caller))?;
        Some(view)
    }
}

// === impl Names ===

impl Names {
    /// Takes the names of a service, and those that are switched off.
    pub(crate) fn of(mcp: &Mcp, builtins: &Builtins) -> Self {
        let owned = |names: &mut dyn Iterator<Item = &str>| names.map(str::to_owned).collect();
        Self {
            tools: owned(&mut mcp.tool_names()),
            resources: owned(&mut mcp.resource_uris()),
            templates: owned(&mut mcp.resource_templates()),
            prompts: owned(&mut mcp.prompt_names()),
            tools_off: builtins.tools_off.clone(),
        }
    }

    /// Checks the toolsets of a configuration, and returns warnings about them.
    ///
    /// # Errors
    /// Fails if a toolset has another name.
    pub(crate) fn check(&self, configuration: &Configuration) -> Result<Vec<String>, LoadError> {
        let Some(toolsets) = &configuration.toolsets else {
            return Ok(without_toolsets(&configuration.auth));
        };
        let mut found = toolsets.check(&self.offered());
        if !found.problems.is_empty() {
            return Err(LoadError::Invalid(found.problems));
        }
        let absent = absent_callers(toolsets, &configuration.auth);
        found.warnings.extend(absent);
        Ok(found.warnings)
    }

    fn offered(&self) -> Offered<'_> {
        fn texts(list: &[String]) -> Vec<&str> {
            list.iter().map(String::as_str).collect()
        }
        let switched_off = BUILTIN_PROMPTS.iter().map(|(_, name)| *name);
        Offered {
            tools: texts(&self.tools),
            resources: texts(&self.resources),
            templates: texts(&self.templates),
            prompts: texts(&self.prompts)
                .into_iter()
                .chain(switched_off)
                .collect(),
        }
    }
}

// === impl CallerView ===

impl CallerView {
    /// Returns whether a call names something that exists and that its caller does not see.
    pub(crate) fn hides(&self, call: &Call, caller: &mcp::Caller) -> bool {
        let has = |list: &[String], name: &str| list.iter().any(|listed| listed == name);
        let Some(name) = caller.subject(call) else {
            return false;
        };
        match call.method() {
            "tools/call" if name == "read_resource" && self.sees(EntryKind::Tool, &name) => {
                let arguments = caller.arguments(call).map(serde_json::from_str);
                let arguments: Option<serde_json::Value> = arguments.and_then(Result::ok);
                let uri = arguments.as_ref().and_then(|it| it["uri"].as_str());
                uri.is_some_and(|uri| {
                    has(&self.names.resources, uri) && !self.sees(EntryKind::Resource, uri)
                })
            }
            "tools/call" => has(&self.names.tools, &name) && !self.sees(EntryKind::Tool, &name),
            "prompts/get" => {
                has(&self.names.prompts, &name) && !self.sees(EntryKind::Prompt, &name)
            }
            "resources/read" => {
                !self.sees(EntryKind::Resource, &name) && self.names.offered().has_resource(&name)
            }
            _ => false,
        }
    }
}

impl View for CallerView {
    fn sees(&self, kind: EntryKind, name: &str) -> bool {
        match kind {
            // Without a token there is no other call.
            EntryKind::Tool if name == LOGIN => true,
            EntryKind::Tool => self.seen.has_tool(name) && !self.names.tools_off.contains(&name),
            EntryKind::Resource => self.seen.has_resource(name),
            EntryKind::ResourceTemplate => self.seen.has_template(name),
            EntryKind::Prompt => self.seen.has_prompt(name),
            // They do what requests to `/api/databases` do.
            EntryKind::Method => self.seen.has_area(Area::Databases),
            _ => false,
        }
    }

    fn has_everywhere(&self, tool: &str) -> bool {
        self.seen.names_tool(tool)
    }
}

/// Returns warnings about callers that do not exist. A file that cannot be read is reported elsewhere.
fn absent_callers(toolsets: &Toolsets, auth: &Auth) -> Vec<String> {
    if !auth.is_enabled {
        return Vec::new();
    }
    let tokens = TokenFile::new(&auth.token_file).list().unwrap_or_default();
    let users = UserFile::new(&auth.user_file).list().unwrap_or_default();
    let mut warnings = toolsets.check_callers(
        |id| tokens.iter().any(|token| token.id == id),
        |name| users.iter().any(|user| user.name == name),
    );
    let known = toolsets.names();
    for token in &tokens {
        let unknown = token.toolsets.iter();
        let unknown = unknown.filter(|name| !known.contains(&name.as_str()));
        warnings.extend(unknown.map(|name| {
            let id = &token.id;
            format!("the API token {id} has the toolset '{name}', which does not exist")
        }));
    }
    warnings
}

/// Returns warnings about API tokens with toolsets where the configuration has none.
fn without_toolsets(auth: &Auth) -> Vec<String> {
    if !auth.is_enabled {
        return Vec::new();
    }
    let tokens = TokenFile::new(&auth.token_file).list().unwrap_or_default();
    let restricted = tokens.iter().filter(|token| !token.toolsets.is_empty());
    let warning = |id: &str| {
        format!("the API token {id} sees nothing: it has toolsets, and the configuration has none")
    };
    restricted.map(|token| warning(&token.id)).collect()
}
