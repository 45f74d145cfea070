//! Allocations of calls to names that a caller does not see, compared with names that do not exist.

use std::{fs, sync::Arc};

use http::{HeaderValue, Request};
use http_body_util::Full;
use tower::{Layer as _, ServiceBuilder};
use ziggurat_calls::toolsets::{Area, Toolsets, View as Seen};
use ziggurat_layers::json_rpc::JsonRpcLayer;
use ziggurat_mcp::{
    Access, Caller, EntryKind, Error, Mcp, Prompt, PromptArguments, Prompts, Rendered, Resource,
    Resources, Schema, ServerInfo, ToolDescriptor, ToolHandler, ToolRequest, ToolResult, Tools,
    View, dialect,
    protocol::{self, ProtocolLayer},
};
use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};
use ziggurat_tokens::CallerId;

use crate::count;

const TOOLSETS: &str = "toolsets:
- {name: some, tools: [seen_*, no_audience], resources: ['data://seen/*'], prompts: [seen], for: {users: [alice]}}
- {name: rest, tools: [hidden_tool], resources: ['data://hide/*'], prompts: [hide], for: {users: [bob]}}
";

/// A tool, which some callers may not have.
struct Named(&'static str);

/// The toolsets of one caller.
struct Alice(Arc<Toolsets>);

struct OfAlice(Seen);

impl ToolHandler for Named {
    fn describe(&self) -> ToolDescriptor {
        let tool = ToolDescriptor::new(self.0, "A tool.", Schema::new());
        if self.0 == "no_audience" {
            tool.with_audience(|_| false)
        } else {
            tool
        }
    }

    async fn call(&self, _: ToolRequest) -> Result<ToolResult, Error> {
        Ok(ToolResult::text("it ran"))
    }
}

impl Access for Alice {
    fn view(&self, _: &Caller) -> Option<Arc<dyn View>> {
        let seen = self.0.view(&CallerId::User("alice"), None);
        Some(Arc::new(OfAlice(seen)))
    }
}

impl View for OfAlice {
    fn sees(&self, kind: EntryKind, name: &str) -> bool {
        match kind {
            EntryKind::Tool => self.0.has_tool(name),
            EntryKind::Resource => self.0.has_resource(name),
            EntryKind::Prompt => self.0.has_prompt(name),
            _ => self.0.has_area(Area::Databases),
        }
    }
}

fn service() -> Mcp {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("server.yaml");
    fs::write(&path, TOOLSETS).expect("written");
    let (sources, flags) = (ConfigSources::default(), Flags::default());
    let loaded = Input::new(&sources, &flags).load(Some(&path), |file| Toolsets::read(file, &[]));
    let toolsets = loaded.expect("valid").value.expect("toolsets");
    let names = ["seen_tool", "hidden_tool", "no_audience"];
    let tools = names
        .into_iter()
        .fold(Tools::new(), |tools, name| tools.with(Named(name)));
    let resource = |uri: &'static str| {
        Resource::new(uri, "A resource", "Of a caller.", || async {
            Ok::<_, Error>("{}".to_owned())
        })
    };
    let resources = Resources::new()
        .with(resource("data://seen/1"))
        .with(resource("data://hide/1"));
    let prompt = |name: &'static str| {
        Prompt::new(name, "A prompt.", |_: &PromptArguments| {
            Rendered::new("A prompt")
        })
    };
    let prompts = Prompts::new().with(prompt("seen")).with(prompt("hide"));
    let about = ServerInfo::new("test", "0");
    let mcp = Mcp::new(&about, tools, resources, prompts).expect("distinct names");
    mcp.with_access(Alice(Arc::new(toolsets)))
}

fn call(method: &str, member: &str, name: &str) -> Request<Full<bytes::Bytes>> {
    let params = format!(r#"{{"{member}":"{name}","arguments":{{"a":[1,"x"]}}}}"#);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let mut request = crate::request(Full::from(body));
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert("content-type", json);
    request
}

/// Counts calls of both revisions to a name.
macro_rules! counts {
    ($mcp:expr, $method:literal, $member:literal, $name:literal) => {{
        let request = || call($method, $member, $name);
        let exact = JsonRpcLayer::new()
            .with_dialect(dialect())
            .layer($mcp.clone());
        let negotiated = ServiceBuilder::new()
            .layer(JsonRpcLayer::new().with_dialect_of(protocol::dialect_of))
            .layer(ProtocolLayer::http())
            .service($mcp.clone());
        [count(exact, request), count(negotiated, request)]
    }};
}

/// Checks that a call to a hidden name allocates as often as one to a name of the same length that
/// was never defined.
pub(crate) fn assert_hidden_names_cost_what_invented_ones_do() {
    let mcp = service();
    let invented = counts!(mcp, "tools/call", "name", "hiddenXtool");
    assert_eq!(
        counts!(mcp, "tools/call", "name", "hidden_tool"),
        invented,
        "a tool"
    );
    assert_eq!(
        counts!(mcp, "tools/call", "name", "no_audience"),
        invented,
        "a tool of others"
    );
    assert_ne!(
        counts!(mcp, "tools/call", "name", "seen_tool"),
        invented,
        "a tool that is seen"
    );
    let invented = counts!(mcp, "resources/read", "uri", "data://hide/X");
    assert_eq!(
        counts!(mcp, "resources/read", "uri", "data://hide/1"),
        invented,
        "a resource"
    );
    let invented = counts!(mcp, "prompts/get", "name", "hidX");
    assert_eq!(
        counts!(mcp, "prompts/get", "name", "hide"),
        invented,
        "a prompt"
    );
}
