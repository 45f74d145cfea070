//! Names that a caller does not see.

use std::sync::atomic::{AtomicUsize, Ordering};

use tower::ServiceExt as _;

use super::*;
use crate::{
    params::Params,
    protocol::{Context, Revision},
};

/// Hides entries with `hidden` in their name, for all callers.
#[derive(Clone, Default)]
struct Hiding {
    asked: Arc<AtomicUsize>,
}

/// A tool for clients that negotiate.
struct Modern(&'static str);

/// Answers `svc/…`.
struct Svc;

/// Finds a resource for each of these names, or fails.
struct Found(&'static [&'static str]);

impl ResourceSource for Found {
    fn pattern(&self) -> &'static str {
        "found://{name}"
    }

    async fn list(&self, _: Caller, _: Option<String>) -> Result<ResourcePage, Failure> {
        if self.0.is_empty() {
            return Err(Failure::new("none today").with_code(-32603));
        }
        let names = self.0.iter();
        let described =
            names.map(|name| ResourceDescriptor::new(format!("found://{name}"), *name, ""));
        Ok(described.collect::<Vec<_>>().into())
    }

    async fn read(&self, uri: &str, _: Caller) -> Result<Option<String>, ReadError> {
        let found = uri
            .strip_prefix("found://")
            .filter(|name| self.0.contains(name));
        Ok(found.map(|name| format!("\"{name}\"")))
    }
}

impl Access for Hiding {
    fn view(&self, _: &Caller) -> Option<Arc<dyn View>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Some(Arc::new(self.clone()))
    }
}

impl View for Hiding {
    fn sees(&self, _: EntryKind, name: &str) -> bool {
        !name.contains("hidden")
    }

    fn has_everywhere(&self, tool: &str) -> bool {
        tool == "named"
    }
}

impl ToolHandler for Modern {
    fn describe(&self) -> ToolDescriptor {
        let schema = Schema::new().with_required("words", Property::string("Words."));
        ToolDescriptor::new(self.0, "Is new.", schema).with_visibility(Visibility::OnlyNegotiated)
    }

    async fn call(&self, _: ToolRequest) -> Result<ToolResult, Error> {
        Ok(ToolResult::text("new"))
    }
}

impl Method for Svc {
    fn call(&self, _: &Caller, _: &Call) -> Result<MethodFuture, ziggurat_layers::json_rpc::Error> {
        Ok(Box::pin(async { Bytes::from_static(b"{}") }))
    }
}

fn tool(name: &'static str) -> Tool {
    let schema = Schema::new().with_required("words", Property::string("Words."));
    Tool::with_schema(name, "Lists.", schema, |_: Value, call: ToolRequest| {
        let names = ["hidden_a", "seen", "off"];
        let listed = names.map(|name| call.listed_tools().has(name));
        async move { Ok(format!("{listed:?}")) }
    })
}

fn mcp() -> Mcp {
    let template = |uri| {
        let read = |_| async { Ok(Some("{}".to_owned())) };
        ResourceTemplate::new(uri, "Template", "Of anything.", read)
            .with_completion(|_, _| async { ["a", "hidden", "b c"].map(str::to_owned).into() })
    };
    let resources = Resources::new()
        .with(Static::text("custom://seen", "Apples"))
        .with(Static::text("custom://hidden_a", "Bread"))
        .with_template(template("city://{city}/{street}"))
        .with_template(template("hidden_a://{city}"));
    let tools = [tool("seen"), tool("hidden_a"), tool("off")];
    let tools = tools.into_iter().fold(Tools::new(), Tools::with);
    let tools = tools
        .with(Modern("named"))
        .with(Modern("new"))
        .with(ReadResource::new(resources.clone()))
        .with_disabled(["off"]);
    let prompt = |name: &'static str| {
        Prompt::new(name, "Says it.", |_: &PromptArguments| {
            Rendered::new("It").with_user_text("It.")
        })
    };
    let prompts = Prompts::new().with(prompt("seen")).with(prompt("hidden_a"));
    let about = ServerInfo::new("test", "0");
    Mcp::new(&about, tools, resources, prompts)
        .expect("well-formed lists")
        .with_method("svc/seen", Svc)
        .with_method("svc/hidden_a", Svc)
}

/// Returns the answer to a request in a revision, or in none.
fn ask_in(mcp: &Mcp, revision: Option<Revision>, method: &str, params: &Value) -> String {
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let Incoming::Call(mut call) = read(message) else {
        panic!("a call");
    };
    if let Some(revision) = revision {
        let context = Context {
            revision,
            is_negotiated: true,
            params: Params::of(&call).positions(),
            ..Context::default()
        };
        call.head_mut().extensions.insert(context);
    }
    let envelope = call.envelope();
    let Ok(reply) = block_on(mcp.clone().oneshot(call));
    let (head, body) = envelope.wrap(reply).into_response().into_parts();
    let body = block_on(body.collect()).expect("whole").to_bytes();
    let body = String::from_utf8(body.into()).expect("UTF-8");
    format!("{} {:?} {body}", head.status, head.headers)
}

fn revisions() -> impl Iterator<Item = Option<Revision>> {
    [None].into_iter().chain(Revision::ALL.map(Some))
}

/// Returns calls that name this entry, of every kind.
fn calls(name: &str) -> Vec<(&'static str, Value)> {
    let call = |arguments| ("tools/call", json!({"name": name, "arguments": arguments}));
    let read = |uri: &str| {
        let arguments = json!({"uri": uri});
        let call = json!({"name": "read_resource", "arguments": arguments});
        [("tools/call", call), ("resources/read", arguments)]
    };
    let complete = |subject| {
        let argument = json!({"name": "city", "value": ""});
        let params = json!({"ref": subject, "argument": argument});
        ("completion/complete", params)
    };
    let mut calls = vec![
        ("tools/call", json!({"name": name})),
        call(json!({"words": 1})),
        call(json!({"other": 1})),
        ("tools/call", json!({"name": name, "requestState": "x"})),
        ("prompts/get", json!({"name": name})),
        (
            "prompts/get",
            json!({"name": name, "arguments": {"x": "y"}}),
        ),
        complete(json!({"type": "ref/prompt", "name": name})),
        complete(json!({"type": "ref/resource", "uri": format!("{name}://{{city}}")})),
    ];
    calls.extend(read(&format!("custom://{name}")));
    calls.extend(read(&format!("{name}://x")));
    calls
}

#[test]
fn a_name_that_is_not_seen_gets_the_answer_to_one_that_was_never_defined() {
    let mcp = mcp().with_access(Hiding::default());
    for revision in revisions() {
        for invented in ["absent_a", "off_from_"] {
            for ((method, hidden), (_, absent)) in
                calls("hidden_a").into_iter().zip(calls(invented))
            {
                let hidden = ask_in(&mcp, revision, method, &hidden);
                let expected = ask_in(&mcp, revision, method, &absent);
                let hidden = hidden.replace("hidden_a", invented);
                assert_eq!(hidden, expected, "{revision:?} {method} {absent}");
            }
        }
        for method in ["svc/hidden_a", "svc/hidden_b"] {
            let answer = ask_in(&mcp, revision, method, &json!({}));
            assert!(answer.contains("-32601"), "{revision:?} {answer}");
        }
        let disabled = ask_in(&mcp, revision, "tools/call", &json!({"name": "off"}));
        let absent = ask_in(&mcp, revision, "tools/call", &json!({"name": "abc"}));
        assert_eq!(disabled.replace("off", "abc"), absent, "{revision:?}");
    }
    let answer = ask_in(&mcp, None, "svc/seen", &json!({}));
    assert!(answer.contains(r#""result":{}"#), "{answer}");
}

#[test]
fn lists_have_what_is_seen_and_nothing_else() {
    let (all, hiding) = (mcp(), mcp().with_access(Hiding::default()));
    for revision in revisions() {
        let is_exact = revision.is_none();
        for (method, has_some) in [
            ("tools/list", true),
            ("resources/list", true),
            ("resources/templates/list", !is_exact),
            ("prompts/list", true),
        ] {
            let whole = ask_in(&all, revision, method, &json!({}));
            let seen = ask_in(&hiding, revision, method, &json!({}));
            let is_there = |list: &str, name: &str| list.contains(name);
            assert_eq!(is_there(&whole, "hidden"), has_some, "{whole}");
            assert!(!is_there(&seen, "hidden"), "{seen}");
            assert!(
                is_there(&seen, "seen") || !has_some || method.contains("templates"),
                "{seen}"
            );
            assert_eq!(
                is_there(&seen, "city://"),
                method.contains("templates") && has_some
            );
        }
        let list = json!({"name": "read_resource", "arguments": {"list": true}});
        let list = ask_in(&hiding, revision, "tools/call", &list);
        assert!(
            list.contains("custom://seen") && !list.contains("hidden"),
            "{list}"
        );
        let known = json!({"name": "seen", "arguments": {"words": "x"}});
        let known = ask_in(&hiding, revision, "tools/call", &known);
        assert!(known.contains("[false, true, false]"), "{known}");
    }
}

#[test]
fn values_of_resources_that_are_not_seen_are_not_proposed() {
    let (all, hiding) = (mcp(), mcp().with_access(Hiding::default()));
    let params = json!({"ref": {"type": "ref/resource", "uri": "city://{city}/{street}"},
                        "argument": {"name": "street", "value": ""}});
    let revision = Some(Revision::V2025_11_25);
    let values = |mcp| ask_in(mcp, revision, "completion/complete", &params);
    assert!(values(&all).contains(r#"["a","hidden","b c"]"#));
    assert!(
        values(&hiding).contains(r#"["a","b c"]"#),
        "{}",
        values(&hiding)
    );
}

#[test]
fn a_view_can_have_a_tool_that_otherwise_exists_only_for_clients_that_negotiate() {
    let (all, hiding) = (mcp(), mcp().with_access(Hiding::default()));
    for (mcp, name, is_there) in [
        (&all, "named", false),
        (&all, "new", false),
        (&hiding, "named", true),
        (&hiding, "new", false),
    ] {
        let list = ask_in(mcp, None, "tools/list", &json!({}));
        assert_eq!(
            list.contains(&format!(r#""name":"{name}""#)),
            is_there,
            "{list}"
        );
        let call = json!({"name": name, "arguments": {"words": "x"}});
        let answer = ask_in(mcp, None, "tools/call", &call);
        assert_eq!(answer.contains(r#""text":"new""#), is_there, "{answer}");
        let answer = ask_in(mcp, Some(Revision::V2025_06_18), "tools/call", &call);
        assert!(answer.contains(r#""text":"new""#), "{answer}");
    }
}

#[test]
fn a_call_has_one_view() {
    let hiding = Hiding::default();
    let mcp = mcp().with_access(hiding.clone());
    let list = json!({"name": "read_resource", "arguments": {"list": true}});
    for (method, params) in [("tools/list", json!({})), ("tools/call", list)] {
        hiding.asked.store(0, Ordering::Relaxed);
        ask_in(&mcp, None, method, &params);
        assert_eq!(hiding.asked.load(Ordering::Relaxed), 1, "{method}");
    }
}

#[test]
fn resources_of_a_source_are_listed_on_one_page_as_far_as_the_caller_sees_them() {
    const MANY: [&str; 151] = {
        let mut names = ["more"; 151];
        names[0] = "hidden_a";
        names[150] = "last";
        names
    };
    let server = |names| {
        let resources = Resources::new()
            .with(Static::text("custom://seen", "Apples"))
            .with(Static::text("custom://hidden_a", "Bread"))
            .with_source(Found(names));
        let tools = Tools::new().with(ReadResource::new(resources.clone()));
        let about = ServerInfo::new("test", "0");
        let mcp = Mcp::new(&about, tools, resources, Prompts::new()).expect("well-formed lists");
        assert_eq!(
            mcp.resource_templates().collect::<Vec<_>>(),
            ["found://{name}"]
        );
        mcp.with_access(Hiding::default())
    };
    let listing = json!({"name": "read_resource", "arguments": {"list": true}});
    let (mcp, failing) = (server(&MANY), server(&[]));
    for revision in revisions() {
        let list = ask_in(&mcp, revision, "resources/list", &json!({}));
        assert!(
            list.contains(r#"{"resources":[{"uri":"custom://seen","#),
            "{list}"
        );
        assert!(
            !list.contains("hidden") && !list.contains("nextCursor"),
            "{list}"
        );
        let entry = r#"{"uri":"found://last","name":"last","mimeType":"application/json"}]"#;
        assert!(list.contains(entry), "{list}");
        let list = ask_in(&mcp, revision, "tools/call", &listing);
        assert!(
            list.contains("found://last") && !list.contains("hidden"),
            "{list}"
        );
        let read = |uri: &str| ask_in(&mcp, revision, "resources/read", &json!({"uri": uri}));
        assert!(read("found://last").contains(r#""text":"\"last\"""#));
        for unknown in ["found://hidden_a", "found://other", "other://last"] {
            assert!(read(unknown).contains("Resource not found"), "{unknown}");
        }
        let failed = ask_in(&failing, revision, "resources/list", &json!({}));
        assert!(
            failed.contains(r#""error":{"code":-32603,"message":"none today"}"#),
            "{failed}"
        );
        let failed = ask_in(&failing, revision, "tools/call", &listing);
        assert!(
            failed.contains("Error reading resource: none today"),
            "{failed}"
        );
    }
}
