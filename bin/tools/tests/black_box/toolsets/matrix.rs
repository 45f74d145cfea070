//! Proof with many callers and random toolsets: callers can call the names that are listed for
//! them, and all other names are answered as if they did not exist.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use super::{Server, WAYS, invented, listed, send, whole};
use crate::support::{Answer, Client, records, records::PASSWORD};

const CALLERS: usize = 20;
/// The first callers have API tokens; the others are users.
const TOKENS: usize = 12;
const SETS: usize = 16;
const OWN_TOOLS: usize = 40;
const OWN_OTHERS: usize = 12;

/// Tools of the server that are listed in all revisions that are negotiated.
const BUILT_IN: [&str; 6] = [
    "execute_explain",
    "get_schema_info",
    "list_databases",
    "query_database",
    "read_resource",
    "search_schema",
];

/// Tools that no caller has here: the first is switched off, the others have no provider.
const ABSENT: [&str; 4] = [
    "count_rows",
    "generate_embedding",
    "search_knowledgebase",
    "similarity_search",
];

/// Tools that the list of `/mcp/v1` leaves out.
const UNLISTED: [&str; 3] = ["execute_explain", "list_databases", "search_schema"];

const BUILT_IN_PROMPTS: [&str; 2] = ["explore-database", "design-schema"];

const TABLES: [&str; 4] = [
    "pg://main/public/people",
    "pg://main/public/orders",
    "pg://two/public/people",
    "pg://two/public/orders/id",
];

const AREAS: [(&str, &str); 7] = [
    ("databases", "/api/databases"),
    ("conversations", "/api/conversations"),
    ("library", "/api/library"),
    ("llm", "/api/llm/providers"),
    ("compact", "/api/chat/compact"),
    ("query", "/api/query"),
    ("activity", "/api/activity"),
];

/// Random numbers, the same at each run.
struct Random(u64);

impl Random {
    /// Returns true once in so many times.
    fn once_in(&mut self, times: u64) -> bool {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33).is_multiple_of(times)
    }

    fn some(&mut self, names: &[String], times: u64) -> Vec<String> {
        let names = names.iter().filter(|_| self.once_in(times));
        names.cloned().collect()
    }
}

/// A toolset as the test knows it.
struct Set {
    name: String,
    tools: Vec<String>,
    resources: Vec<String>,
    prompts: Vec<String>,
    rest: Vec<String>,
    callers: Vec<usize>,
}

/// The names of the server.
struct Names {
    tools: Vec<String>,
    resources: Vec<String>,
    prompts: Vec<String>,
}

/// A caller, and the names that its sets have.
struct Caller {
    index: usize,
    client: Client,
    /// The databases that it may use.
    databases: &'static [&'static str],
}

fn own_tool(index: usize) -> String {
    let kinds = ["orders", "sales", "stock", "staff"];
    format!("{}_{index:02}", kinds[index % kinds.len()])
}

/// Returns the parameters of a tool and its database, which hide some tools from some callers.
fn definition(index: usize) -> &'static str {
    match index % 5 {
        1 => "parameters: [{name: v, type: string, from: user}]",
        2 => "parameters: [{name: v, type: string, from: token}]",
        3 => "database: two, parameters: [{name: v, type: string, default: x}]",
        _ => "parameters: [{name: v, type: string, required: false}]",
    }
}

impl Names {
    fn new() -> Self {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let own = |kind: &str| {
            (0..OWN_OTHERS)
                .map(|at| format!("{kind}{at:02}"))
                .collect::<Vec<_>>()
        };
        Self {
            tools: [
                (0..OWN_TOOLS).map(own_tool).collect(),
                owned(&BUILT_IN),
                owned(&ABSENT),
            ]
            .concat(),
            resources: [
                own("custom://doc_"),
                vec!["pg://system_info".to_owned()],
                owned(&TABLES),
            ]
            .concat(),
            prompts: [own("help-"), owned(&BUILT_IN_PROMPTS)].concat(),
        }
    }

    fn definitions(&self) -> String {
        let own = |names: &[String], entry: &dyn Fn(usize, &str) -> String| {
            let names = names.iter().enumerate();
            names.map(|(at, name)| entry(at, name)).collect::<String>()
        };
        let tools = own(&self.tools[..OWN_TOOLS], &|at, name| {
            let more = definition(at);
            format!(
                "- {{name: {name}, description: D, statement: \"SELECT 'it ran', :v\", {more}}}\n"
            )
        });
        let prompts = own(&self.prompts[..OWN_OTHERS], &|_, name| {
            let message = "{role: user, content: {type: text, text: Look at the data}}";
            format!("- {{name: {name}, messages: [{message}]}}\n")
        });
        let resources = own(&self.resources[..OWN_OTHERS], &|_, uri| {
            format!("- {{uri: \"{uri}\", name: D, type: static, data: it was read}}\n")
        });
        format!("tools:\n{tools}prompts:\n{prompts}resources:\n{resources}")
    }

    /// Returns random toolsets.
    fn sets(&self) -> Vec<Set> {
        let mut random = Random(20_251_125);
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let any_tool = owned(&["orders_*", "sales_1*", "get_*", "st*"]);
        let any_resource = owned(&[
            "pg://main/*",
            "pg://two/public/people",
            "custom://doc_0*",
            "pg://*",
        ]);
        let areas: Vec<_> = AREAS.iter().map(|(area, _)| (*area).to_owned()).collect();
        // Without a provider, the last tools can be called but are not listed.
        let offered = &self.tools[..=OWN_TOOLS + BUILT_IN.len()];
        let one = |at| Set {
            name: format!("set-{at}"),
            tools: [random.some(offered, 6), random.some(&any_tool, 8)].concat(),
            resources: [
                random.some(&self.resources, 5),
                random.some(&any_resource, 8),
            ]
            .concat(),
            prompts: random.some(&self.prompts, 4),
            rest: random.some(&areas, 4),
            // A set that is for no caller would be refused.
            callers: (0..CALLERS)
                .filter(|caller| *caller == at || random.once_in(8))
                .collect(),
        };
        (0..SETS).map(one).collect()
    }
}

impl Set {
    fn yaml(&self) -> String {
        let Self {
            name,
            tools,
            resources,
            prompts,
            rest,
            callers,
        } = self;
        let (tokens, users): (Vec<usize>, Vec<usize>) =
            callers.iter().partition(|at| **at < TOKENS);
        let tokens: Vec<_> = tokens.iter().map(|at| format!("token-{at}")).collect();
        let users: Vec<_> = users.iter().map(|at| format!("user{at}")).collect();
        let callers = json!({"tokens": tokens, "users": users});
        format!(
            "- {{name: {name}, tools: {}, resources: {}, prompts: {}, rest: {}, for: {callers}}}\n",
            json!(tools),
            json!(resources),
            json!(prompts),
            json!(rest)
        )
    }
}

/// Returns whether one of some patterns fits a name.
fn fits(patterns: &[String], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => pattern == name,
        })
}

impl Caller {
    /// Returns the callers of a server.
    fn all(stranger: &Client) -> Vec<Self> {
        let caller = |index| {
            let (client, databases): (_, &[&str]) = match index {
                TOKENS.. => (
                    stranger.logged_in(&format!("user{index}"), PASSWORD),
                    &["main", "two"],
                ),
                _ if index.is_multiple_of(2) => {
                    (stranger.bearing(&format!("secret{index}")), &["main"])
                }
                _ => (stranger.bearing(&format!("secret{index}")), &["two"]),
            };
            Self {
                index,
                client,
                databases,
            }
        };
        (0..CALLERS).map(caller).collect()
    }

    fn sets<'a>(&self, sets: &'a [Set]) -> impl Iterator<Item = &'a Set> + Clone + use<'a> {
        let index = self.index;
        sets.iter().filter(move |set| set.callers.contains(&index))
    }

    /// Returns whether a tool of the sets exists for this caller.
    fn can_have(&self, tool: &str) -> bool {
        let own = (0..OWN_TOOLS).find(|at| own_tool(*at) == tool);
        match own.map(|at| at % 5) {
            Some(1) => self.index >= TOKENS,
            Some(2) => self.index < TOKENS,
            Some(3) => self.databases.contains(&"two"),
            _ => !ABSENT.contains(&tool),
        }
    }

    fn tools(&self, names: &Names, sets: &[Set]) -> BTreeSet<String> {
        let has = |tool: &&String| {
            self.sets(sets).any(|set| fits(&set.tools, tool)) && self.can_have(tool)
        };
        names.tools.iter().filter(has).cloned().collect()
    }

    fn resources(&self, names: &Names, sets: &[Set]) -> BTreeSet<String> {
        let is_open = |uri: &str| {
            let mut databases = ["main", "two"]
                .into_iter()
                .filter(|it| !self.databases.contains(it));
            !databases.any(|it| uri.starts_with(&format!("pg://{it}/")))
        };
        let has =
            |uri: &&String| self.sets(sets).any(|set| fits(&set.resources, uri)) && is_open(uri);
        names.resources.iter().filter(has).cloned().collect()
    }

    fn prompts(&self, names: &Names, sets: &[Set]) -> BTreeSet<String> {
        let has = |prompt: &&String| self.sets(sets).any(|set| fits(&set.prompts, prompt));
        names.prompts.iter().filter(has).cloned().collect()
    }
}

/// Returns the names for which the answer is not that to an invented name.
fn found(names: &[String], ask: impl Fn(&str) -> Answer) -> BTreeSet<String> {
    let is_known = |name: &&String| {
        let other = invented(name);
        let (answer, unknown) = (whole(&ask(name)), whole(&ask(&other)));
        answer.replace(&**name, &other) != unknown
    };
    names.iter().filter(is_known).cloned().collect()
}

/// Starts a server with these definitions and sets.
fn server(names: &Names, sets: &[Set]) -> Server {
    let server = Server::new("");
    fs::write(server.home.file("own.yaml"), names.definitions()).expect("written");
    let token = |at: usize| {
        let bound = if at.is_multiple_of(2) { "main" } else { "two" };
        let number = u32::try_from(at).expect("small");
        records::token(
            number,
            &format!("secret{at}"),
            &[&format!("database: {bound}")],
        )
    };
    let tokens: Vec<_> = (0..TOKENS).map(token).collect();
    server
        .home
        .replace(&server.home.tokens(), &records::tokens(&tokens));
    let users: Vec<_> = (TOKENS..CALLERS)
        .map(|at| records::user(&format!("user{at}"), &[]))
        .collect();
    server
        .home
        .replace(&server.home.users(), &records::users(&users));
    let sets: String = sets.iter().map(Set::yaml).collect();
    server.configure(&format!("toolsets:\n{sets}"));
    server
}

fn check_tools(caller: &Caller, names: &Names, sets: &[Set]) {
    let seen = caller.tools(names, sets);
    for way in WAYS {
        let is_exact = way == "/mcp/v1";
        let mut callable = seen.clone();
        let mut shown = seen.clone();
        if is_exact {
            let is_named = |tool: &String| caller.sets(sets).any(|set| set.tools.contains(tool));
            callable.retain(|tool| {
                !["list_databases", "search_schema"].contains(&&**tool) || is_named(tool)
            });
            shown.retain(|tool| {
                !UNLISTED.contains(&&**tool) || tool != "execute_explain" && is_named(tool)
            });
        }
        let list = listed(&caller.client, way, "tools/list", "tools/name");
        assert_eq!(list, Vec::from_iter(shown), "{} {way}", caller.index);
        let call = |tool: &str| {
            let params = json!({"name": tool, "arguments": {}});
            send(&caller.client, way, "tools/call", &params)
        };
        let answered = found(&names.tools, call);
        assert_eq!(answered, callable, "{} {way}", caller.index);
    }
    for (at, set) in sets.iter().enumerate() {
        let (path, has) = (
            format!("/mcp/x/{}", set.name),
            set.callers.contains(&caller.index),
        );
        let tool = &names.tools[at];
        let query = format!("/mcp?tools={tool}");
        let tools: BTreeSet<_> = seen
            .iter()
            .filter(|name| fits(&set.tools, name))
            .cloned()
            .collect();
        let of_set = super::tools_at(&caller.client, &path);
        let absent = super::tools_at(&caller.client, "/mcp/nothing");
        let expected = if has {
            Ok(Vec::from_iter(tools))
        } else {
            absent
        };
        assert_eq!(of_set, expected, "{} {path}", caller.index);
        let one = seen.get(tool).into_iter().cloned().collect();
        assert_eq!(
            super::tools_at(&caller.client, &query),
            Ok(one),
            "{} {query}",
            caller.index
        );
    }
}

fn check_resources(caller: &Caller, names: &Names, sets: &[Set]) {
    let seen = caller.resources(names, sets);
    for way in WAYS {
        let has_tables = way != "/mcp/v1";
        let shown: Vec<_> = seen
            .iter()
            .filter(|uri| !TABLES.contains(&&***uri))
            .cloned()
            .collect();
        let list = listed(&caller.client, way, "resources/list", "resources/uri");
        assert_eq!(list, shown, "{} {way}", caller.index);
        let read = |uri: &str| send(&caller.client, way, "resources/read", &json!({"uri": uri}));
        let answered = found(&names.resources, read);
        let readable: BTreeSet<_> = seen
            .iter()
            .filter(|uri| has_tables || !TABLES.contains(&&***uri))
            .cloned()
            .collect();
        assert_eq!(answered, readable, "{} {way}", caller.index);
        if caller.tools(names, sets).contains("read_resource") {
            let own = &names.resources[..OWN_OTHERS];
            let read = |uri: &str| {
                let params = json!({"name": "read_resource", "arguments": {"uri": uri}});
                send(&caller.client, way, "tools/call", &params)
            };
            let readable: BTreeSet<_> = seen
                .iter()
                .filter(|uri| uri.starts_with("custom://"))
                .cloned()
                .collect();
            assert_eq!(found(own, read), readable, "{} {way}", caller.index);
        }
    }
}

fn check_prompts(caller: &Caller, names: &Names, sets: &[Set]) {
    let seen = caller.prompts(names, sets);
    for way in WAYS {
        let list = listed(&caller.client, way, "prompts/list", "prompts/name");
        assert_eq!(list, Vec::from_iter(seen.clone()), "{} {way}", caller.index);
        let get = |name: &str| send(&caller.client, way, "prompts/get", &json!({"name": name}));
        assert_eq!(found(&names.prompts, get), seen, "{} {way}", caller.index);
    }
    let complete = |name: &str| {
        let reference = json!({"type": "ref/prompt", "name": name});
        let params = json!({"ref": reference, "argument": {"name": "x", "value": ""}});
        send(&caller.client, "2025-11-25", "completion/complete", &params)
    };
    assert_eq!(found(&names.prompts, complete), seen, "{}", caller.index);
}

fn check_templates(caller: &Caller, sets: &[Set]) {
    let list = listed(
        &caller.client,
        "2025-06-18",
        "resources/templates/list",
        "resourceTemplates/uriTemplate",
    );
    let of_tables = [
        "pg://{database}/{schema}/{table}",
        "pg://{database}/{schema}/{table}/{column}",
    ];
    for template in of_tables {
        let argument = if template.ends_with("{table}") {
            "table"
        } else {
            "column"
        };
        let complete = |argument: &str| {
            let params = json!({"ref": {"type": "ref/resource", "uri": template},
                "argument": {"name": argument, "value": ""},
                "context": {"arguments": {"database": "main", "schema": "public", "table": "people"}}});
            whole(&send(
                &caller.client,
                "2025-11-25",
                "completion/complete",
                &params,
            ))
        };
        let (answer, unknown) = (complete(argument), complete("nothing"));
        let is_listed = list.contains(&template.to_owned());
        assert!(
            is_listed || answer == unknown,
            "{} {template}: {answer}",
            caller.index
        );
        for (table, value) in [("people", "\"people\""), ("orders", "\"orders\"")] {
            let uri = format!("pg://main/public/{table}");
            let is_seen = caller.databases.contains(&"main")
                && caller.sets(sets).any(|set| fits(&set.resources, &uri));
            assert_eq!(
                answer.contains(value),
                is_seen && argument == "table",
                "{} {table} {answer}",
                caller.index
            );
        }
    }
}

fn check_areas(caller: &Caller, sets: &[Set]) {
    let has = |area: &str| {
        caller
            .sets(sets)
            .any(|set| set.rest.iter().any(|it| it == area))
    };
    let absent = whole(&caller.client.get("/api/nothing"));
    for (area, path) in AREAS {
        // The only method of these.
        let get = |path: &str| match area {
            "compact" | "query" => whole(&caller.client.post(path, "{}")),
            _ => whole(&caller.client.get(path)),
        };
        let absent = if ["compact", "query"].contains(&area) {
            whole(&caller.client.post("/api/nothing", "{}"))
        } else {
            absent.clone()
        };
        assert_eq!(get(path) != absent, has(area), "{} {path}", caller.index);
    }
    let ask = |method: &str| {
        let answer = caller.client.call(method, &json!({"name": "main"}));
        answer.to_string().replace(method, "")
    };
    for method in ["svc/listDatabases", "svc/selectDatabase"] {
        assert_eq!(
            ask(method) != ask("svc/noSuchMethod"),
            has("databases"),
            "{} {method}",
            caller.index
        );
    }
    assert_eq!(caller.client.get("/api/user/info").status, 200);
}

#[test]
fn what_twenty_callers_are_shown_is_what_they_can_use_and_the_rest_was_never_defined() {
    let names = Names::new();
    let sets = names.sets();
    let server = server(&names, &sets);
    let (_program, stranger) = server.home.serve(&[]);
    let callers = Caller::all(&stranger);
    let mut counts = BTreeSet::new();
    for caller in &callers {
        check_tools(caller, &names, &sets);
        check_resources(caller, &names, &sets);
        check_prompts(caller, &names, &sets);
        check_templates(caller, &sets);
        check_areas(caller, &sets);
        counts.insert(caller.tools(&names, &sets).len());
    }
    assert!(counts.len() > 8, "the callers are too alike: {counts:?}");
}

/// Calls a hidden tool in each way that reached one in other servers: by its name while a filter
/// only removes it from the list, by a name that is spelled in another way, and through a call that
/// takes the name as an argument (Hmbown/Codewhale#5157, rcarmo/piclaw#1295).
#[test]
fn a_tool_that_a_filter_removed_from_the_list_is_not_run_by_another_way_to_its_name() {
    let names = Names::new();
    let sets = [Set {
        name: "reading".to_owned(),
        tools: vec!["read_resource".to_owned(), "query_database".to_owned()],
        resources: vec!["*".to_owned()],
        prompts: vec!["*".to_owned()],
        rest: AREAS.iter().map(|(area, _)| (*area).to_owned()).collect(),
        callers: vec![0],
    }];
    let server = server(&names, &sets);
    let (_program, stranger) = server.home.serve(&[]);
    let client = stranger.bearing("secret0");
    let tool = own_tool(0);
    let spelled = [
        tool.clone(),
        format!(" {tool}"),
        tool.to_uppercase(),
        format!("mcp__main__{tool}"),
        format!("main/{tool}"),
        format!("tool:{tool}"),
        format!("{tool}\u{0}"),
        format!("{tool}\u{200b}"),
        format!("reading.{tool}"),
    ];
    for name in &spelled {
        for way in WAYS {
            for (method, params) in indirect(name) {
                let answer = send(&client, way, method, &params);
                assert!(
                    !answer.body.contains("it ran"),
                    "{way} {method} {params}: {answer:?}"
                );
            }
        }
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}});
        let headers = "content-type: application/json\r\naccept: application/json, \
                       text/event-stream\r\nmcp-protocol-version: 2025-03-26\r\n";
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        let bodies = [
            call.to_string(),
            json!([call]).to_string(),
            json!([list, call]).to_string(),
        ];
        for path in [
            "/mcp",
            "/mcp/v1",
            "/mcp?tools=*",
            "/mcp/x/reading",
            "/mcp/x/reading?tools=*",
            "/mcp/x/set-0",
        ] {
            for body in &bodies {
                let answer = client.send("POST", path, headers, body);
                assert!(!answer.body.contains("it ran"), "{path} {body}: {answer:?}");
            }
        }
    }
}

/// Returns calls that name a tool, or a thing that may lead to it.
fn indirect(name: &str) -> Vec<(&'static str, Value)> {
    let read = |uri: String| json!({"name": "read_resource", "arguments": {"uri": uri}});
    let mut calls = vec![
        ("tools/call", json!({"name": name, "arguments": {}})),
        ("tools/call", json!({"name": name})),
        (
            "tools/call",
            json!({"name": "read_resource", "arguments": {"name": name, "list": true}}),
        ),
        ("prompts/get", json!({"name": name, "arguments": {}})),
        ("svc/selectDatabase", json!({"name": name})),
        // A method of the name of the first tool.
        ("orders_00", json!({"arguments": {}})),
    ];
    for uri in [
        name.to_owned(),
        format!("tool://{name}"),
        format!("custom://{name}"),
        format!("pg://main/{name}"),
    ] {
        calls.push(("resources/read", json!({"uri": uri})));
        calls.push(("tools/call", read(uri)));
    }
    calls
}
