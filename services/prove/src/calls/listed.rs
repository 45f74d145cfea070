//! Calls of everything that the server lists for A.

use serde_json::{Map, Value, json};

use crate::{
    calls::{
        case::{Case, Known},
        request::Request,
    },
    party::Side,
    rule::Rule,
    schema::Relation,
};

/// The lists of the protocol, each with its member.
pub(crate) const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
    ("prompts/list", "prompts"),
];

/// Tools that are called for each object, and tools that read no table.
const PER_OBJECT: [&str; 10] = [
    "query_database",
    "execute_explain",
    "count_rows",
    "get_schema_info",
    "search_schema",
    "similarity_search",
    "read_resource",
    "generate_embedding",
    "search_knowledgebase",
    "query",
];

/// Requests below `/api/` that need no statement.
const PATHS: [(Rule, &str); 4] = [
    (Rule::Value, "/api/databases"),
    (Rule::Statistics, "/api/schema"),
    (Rule::Value, "/api/activity"),
    (Rule::Value, "/api/user/info"),
];

/// Makes up the calls of listed things. `lists` are in the order of [`LISTS`].
pub(super) fn of_lists(known: &Known<'_>, lists: &[Vec<Value>; 4]) -> Vec<Case> {
    let [tools, resources, templates, prompts] = lists;
    let case = |rule, entrance: &str, request| Case::of_database(known, rule, entrance, request);
    let lists = LISTS.map(|(method, _)| {
        let request = Request::mcp(method, json!({}));
        case(Rule::Value, method, request)
    });
    let paths = PATHS.map(|(rule, path)| case(rule, path, Request::get(path)));
    let mut cases: Vec<_> = lists.into_iter().chain(paths).collect();
    cases.extend(tools.iter().flat_map(|tool| of_tool(known, tool)));
    cases.extend(resources.iter().flat_map(|it| of_resource(known, it)));
    for relation in &known.schema.relations {
        let (database, Relation { schema, name, .. }) = (known.database, relation);
        let uri = format!("pg://{database}/{schema}/{name}");
        let columns = relation
            .columns
            .iter()
            .map(|it| format!("{uri}/{}", it.name));
        for uri in [uri.clone()].into_iter().chain(columns) {
            let request = Request::mcp("resources/read", json!({"uri": uri}));
            cases.push(case(Rule::Statistics, "resources/read", request));
        }
    }
    for prompt in prompts {
        let params = json!({"name": prompt["name"], "arguments": of_prompt(known, prompt)});
        let request = Request::mcp("prompts/get", params);
        cases.push(case(Rule::Value, "prompts/get", request));
    }
    for params in completions(known, templates, prompts) {
        let request = Request::mcp("completion/complete", params);
        cases.push(case(Rule::Value, "completion/complete", request));
    }
    cases
}

/// Makes up the calls of a tool, unless it is called for each object.
fn of_tool(known: &Known<'_>, tool: &Value) -> Vec<Case> {
    let name = tool["name"].as_str().unwrap_or_default();
    if PER_OBJECT.contains(&name) {
        return Vec::new();
    }
    let sets = arguments(known, &tool["inputSchema"]).into_iter();
    let case = |(set, sent)| Case {
        sent,
        ..Case::of_database(known, Rule::Row, name, Request::tool(name, &set))
    };
    sets.map(case).collect()
}

/// Makes up the calls of a resource.
fn of_resource(known: &Known<'_>, resource: &Value) -> [Case; 2] {
    let uri = json!({"uri": resource["uri"]});
    let tool = Request::tool("read_resource", &uri);
    [
        ("resources/read", Request::mcp("resources/read", uri)),
        ("read_resource", tool),
    ]
    .map(|(entrance, request)| Case::of_database(known, Rule::Row, entrance, request))
}

/// Returns arguments that a schema takes: the required ones, with values of A and of B.
fn arguments(known: &Known<'_>, schema: &Value) -> Vec<(Value, Vec<String>)> {
    let mut lists = Vec::new();
    for side in [Side::A, Side::B] {
        let (mut arguments, mut sent) = (Map::new(), Vec::new());
        let properties = schema["properties"].as_object().into_iter().flatten();
        for (name, property) in properties {
            let value = argument(known, name, property, side);
            if side == Side::B {
                sent.extend(value.as_str().map(str::to_owned));
            }
            let required = schema["required"].as_array().into_iter().flatten();
            let is_required = required.into_iter().any(|it| it == name);
            if is_required || property.get("default").is_none() {
                arguments.insert(name.clone(), value);
            }
        }
        let list = (Value::Object(arguments), sent);
        if !lists.contains(&list) {
            lists.push(list);
        }
    }
    lists
}

/// Returns a value that a property takes.
fn argument(known: &Known<'_>, name: &str, property: &Value, side: Side) -> Value {
    if name == "database" {
        return json!(known.database);
    }
    if let Some(first) = property["enum"].as_array().and_then(|it| it.first()) {
        return first.clone();
    }
    let rows = || {
        let tables = known.schema.relations.iter().filter(|it| it.is_table());
        tables.filter_map(|table| known.planted.rows_of(side, &table.oid).first())
    };
    let members = || rows().flat_map(|row| row.values());
    let own = rows().find_map(|row| row.get(name));
    match property["type"].as_str() {
        Some("integer" | "number") => {
            let own = own.filter(|it| it.is_number()).cloned();
            let any = || members().find(|it| it.is_number()).cloned();
            own.or_else(any).unwrap_or_else(|| json!(1))
        }
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        _ => {
            let own = own.filter(|it| it.is_string()).cloned();
            let any = || members().find(|it| it.is_string()).cloned();
            own.or_else(any).unwrap_or_else(|| json!("x"))
        }
    }
}

/// Returns the arguments of a prompt, all with the name of a table.
fn of_prompt(known: &Known<'_>, prompt: &Value) -> Value {
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    let arguments = arguments.filter_map(|it| it["name"].as_str());
    let table = known.schema.relations.first();
    let name = table.map_or("x", |table| &*table.name);
    let filled = arguments.map(|argument| (argument.to_owned(), json!(name)));
    Value::Object(filled.collect())
}

/// Returns requests for values of all arguments of templates and prompts.
fn completions(known: &Known<'_>, templates: &[Value], prompts: &[Value]) -> Vec<Value> {
    let mut found = Vec::new();
    let context =
        |schema: &str| json!({"arguments": {"database": known.database, "schema": schema}});
    let schema = known
        .schema
        .relations
        .first()
        .map_or("public", |it| &it.schema);
    for template in templates {
        let uri = template["uriTemplate"].as_str().unwrap_or_default();
        let names = uri
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split('}').next());
        for name in names {
            found.push(json!({
                "ref": {"type": "ref/resource", "uri": uri},
                "argument": {"name": name, "value": ""}, "context": context(schema),
            }));
        }
    }
    for prompt in prompts {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        for argument in arguments {
            found.push(json!({
                "ref": {"type": "ref/prompt", "name": prompt["name"]},
                "argument": {"name": argument["name"], "value": ""},
            }));
        }
    }
    found
}
