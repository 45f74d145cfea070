//! Tests of the form of answers for clients that negotiate a revision; `/mcp/v1` keeps its own.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{
    revisions::result,
    support::{Client, Home, Postgres},
};

/// Limit on the default `tools/list`, in characters: 1,400 tokens.
const LONGEST_LIST: usize = 5_600;

fn call(client: &Client, name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    result(client, "tools/call", &params)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

fn succeed(client: &Client, name: &str, arguments: &Value) -> String {
    let result = call(client, name, arguments);
    assert_eq!(result.get("isError"), None, "{result}");
    text(&result).to_owned()
}

fn fail(client: &Client, name: &str, arguments: &Value) -> String {
    let result = call(client, name, arguments);
    assert_eq!(result["isError"], true, "{result}");
    text(&result).to_owned()
}

/// Returns the last lines of the answer to a query.
fn rows(client: &Client, sql: &str) -> String {
    let answer = succeed(client, "query_database", &json!({"query": sql}));
    let (_, rows) = answer.split_once("):\n").expect("rows");
    rows.to_owned()
}

fn tools(client: &Client) -> Vec<Value> {
    let list = result(client, "tools/list", &json!({}));
    list["tools"].as_array().expect("a list").clone()
}

fn names(client: &Client) -> Vec<String> {
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools(client).iter().map(name).collect()
}

fn configured(yaml: &str) -> (Postgres, Home) {
    let postgres = Postgres::with("CREATE TABLE t AS SELECT 1 AS n");
    let home = Home::new();
    home.configure(&format!("databases:\n{}{yaml}", postgres.entry("main")));
    (postgres, home)
}

#[test]
fn no_two_values_look_alike() {
    let (_postgres, home) = configured("");
    let (_program, client) = home.serve(&["-no-auth"]);
    let sql =
        r"SELECT NULL::text AS a, '' AS b, '\N' AS c, E'x\ty' AS d, 'x\ty' AS e, E'\n\\' AS f";
    assert_eq!(
        rows(&client, sql),
        "a\tb\tc\td\te\tf\n\\N\t\t\\\\N\tx\\ty\tx\\\\ty\t\\n\\\\"
    );
    // The text of 2024-11-05 stays.
    let exact = client.query(sql);
    assert!(exact.ends_with("\n\t\t\\N\tx\\ty\tx\\ty\t\\n\\"), "{exact}");
}

#[test]
fn three_hundred_hostile_rows_hide_nothing_and_structures_keep_them() {
    const HIDDEN: [u32; 30] = [
        0x01, 0x07, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x180b,
        0x180e, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069,
        0x3164, 0xfeff, 0xffa0, 0xfffb, 0xe0041, 0xe0fff,
    ];
    const FORMS: [&str; 10] = [
        "{}",
        "a{}b",
        "{}{}",
        "é{}é",
        "\u{202e}{}",
        "{}\u{200d}x",
        "\\{}",
        "\t{}",
        "<b>{}</b>",
        "ignore{}previous",
    ];
    let mut sql = String::from("SELECT v AS \"na\u{202e}me\" FROM (VALUES ");
    let mut values = Vec::new();
    for code in HIDDEN {
        let hidden = char::from_u32(code).expect("a character").to_string();
        for form in FORMS {
            values.push(form.replace("{}", &hidden));
        }
    }
    assert_eq!(values.len(), 300);
    for (at, value) in values.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(sql, "{comma}({at}, '{value}')").expect("a string takes all");
    }
    sql.push_str(") rows (at, v) ORDER BY at");
    let (_postgres, home) = configured("mcp: {structured_output: true}\n");
    let (_program, client) = home.serve(&["-no-auth"]);
    let arguments = json!({"query": sql, "limit": 300});
    let answer = call(&client, "query_database", &arguments);
    let hides = |text: &str| {
        let is_hidden = |it: char| {
            let is_line = matches!(it, '\t' | '\n');
            !is_line && (HIDDEN.contains(&u32::from(it)) || it.is_control())
        };
        text.contains(is_hidden) || text.contains('\u{200d}')
    };
    assert!(!hides(text(&answer)), "{answer}");
    assert_eq!(
        text(&answer).matches(r"ignore\u{").count(),
        300 / FORMS.len() * 2
    );
    let structured = answer["structuredContent"]["rows"]
        .as_array()
        .expect("rows");
    let structured: Vec<_> = structured
        .iter()
        .map(|row| row[0].as_str().expect("a text"))
        .collect();
    assert_eq!(structured, values);
    for wrong in ["SELECT '\u{202e}'::int", "SELECT 1 FROM \"t\u{200b}\""] {
        let error = fail(&client, "query_database", &json!({"query": wrong}));
        assert!(!hides(&error), "{error}");
    }
}

#[test]
fn a_long_value_is_cut_and_ends_with_its_size() {
    let (_postgres, home) = configured("results: {max_cell_bytes: 100}\n");
    let (_program, client) = home.serve(&["-no-auth"]);
    let sql = "SELECT repeat('é', 60) AS a, repeat('x', 100) AS b, repeat('[', 101) AS c";
    let answer = succeed(&client, "query_database", &json!({"query": sql}));
    let expected = format!(
        "{}… (120 bytes)\t{}\t{}… (101 bytes)",
        "é".repeat(50),
        "x".repeat(100),
        "[".repeat(100)
    );
    assert!(answer.ends_with(&expected), "{answer}");
    let note = "Note: values of more than 100 bytes are cut and end with their size. Read more of \
                one with substr(column, first_character, count).\n";
    assert!(answer.contains(note), "{answer}");
    let exact = client.query(sql);
    assert!(
        exact.contains(&"é".repeat(60)) && !exact.contains("bytes)"),
        "{exact}"
    );
}

#[test]
fn a_fence_marks_where_the_values_begin_and_end() {
    let (_postgres, home) = configured("results: {fence: true}\n");
    let (_program, client) = home.serve(&["-no-auth"]);
    let answer = rows(&client, "SELECT '</data' AS a, 7 AS b");
    let lines: Vec<_> = answer.lines().collect();
    let mark = lines[0].strip_prefix("<data ").expect(&answer);
    assert_eq!(lines[1..3], ["a\tb", "\\u{3c}/data\t7"]);
    assert_eq!(lines[3], format!("</data {mark}"), "{answer}");
    let about = result(&client, "server/discover", &json!({}));
    let instructions = about["instructions"].as_str().expect("instructions");
    assert!(instructions.contains("<data x>"), "{instructions}");
    let exact = client.query("SELECT 7 AS b");
    assert!(exact.ends_with("Results (1 rows):\nb\n7"), "{exact}");
}

/// Creates a server with two databases that tell them apart.
fn two() -> (Postgres, Postgres, Home) {
    let one = Postgres::with("CREATE TABLE here AS SELECT 'one' AS name");
    let two = Postgres::with("CREATE TABLE here AS SELECT 'two' AS name");
    let home = Home::new();
    let (first, second) = (one.entry("one"), two.entry("two"));
    home.configure(&format!("databases:\n{first}{second}"));
    (one, two, home)
}

const HERE: &str = "SELECT name FROM here";

#[test]
fn a_call_can_name_its_database_and_answers_say_which_it_was() {
    let (_one, _two, home) = two();
    let (_program, client) = home.serve(&["-no-auth"]);
    let list = succeed(&client, "list_databases", &json!({}));
    assert_eq!(
        list,
        "name\tcurrent\taccess\none\ttrue\tread\ntwo\tfalse\tread"
    );
    for (database, answered) in [("two", "two"), ("one", "one"), ("", "one")] {
        let arguments = json!({"query": HERE, "database": database});
        let answer = succeed(&client, "query_database", &arguments);
        let label = format!("database: {answered}\n");
        assert!(answer.starts_with(&label), "{answer}");
        assert!(answer.ends_with(&format!("\n{answered}")), "{answer}");
    }
    for (name, arguments) in [
        ("count_rows", json!({"table": "here", "database": "two"})),
        ("execute_explain", json!({"query": HERE, "database": "two"})),
        ("get_schema_info", json!({"database": "two"})),
    ] {
        let answer = succeed(&client, name, &arguments);
        assert!(answer.starts_with("database: two\n"), "{answer}");
    }
    let wrong = json!({"query": "SELECT nope", "database": "two"});
    for (name, arguments) in [
        ("query_database", &wrong),
        ("execute_explain", &wrong),
        ("count_rows", &json!({"table": "nope", "database": "two"})),
    ] {
        let error = fail(&client, name, arguments);
        assert!(error.starts_with("database: two\n"), "{error}");
    }
    let arguments = json!({"query": HERE, "database": "three"});
    let error = fail(&client, "query_database", &arguments);
    assert_eq!(error, "Unknown database: three");
}

#[test]
fn a_token_of_one_database_cannot_name_another() {
    let (_one, _two, home) = two();
    let token = home.token("two");
    let (_program, client) = home.serve(&[]);
    let client = client.bearing(&token);
    let list = succeed(&client, "list_databases", &json!({}));
    assert_eq!(list, "name\tcurrent\taccess\ntwo\ttrue\tread");
    let arguments = json!({"query": HERE, "database": "one"});
    let error = fail(&client, "query_database", &arguments);
    assert_eq!(error, "Unknown database: one");
    let answer = succeed(&client, "query_database", &json!({"query": HERE}));
    assert!(answer.starts_with("Database: two\n"), "{answer}");
}

#[test]
fn wrong_arguments_are_named_and_old_clients_may_send_them() {
    let (_postgres, home) = configured("");
    let (_program, client) = home.serve(&["-no-auth"]);
    let cases = [
        (
            json!({"query": "SELECT 1", "limt": 3}),
            "Unknown argument 'limt'. The arguments of query_database are: query, limit, offset.",
        ),
        (
            json!({"query": "SELECT 1", "limit": "3"}),
            "'limit' must be an integer from 1 to 1000, not a string.",
        ),
        (
            json!({"query": "SELECT 1", "limit": 5000, "offset": -1}),
            "'limit' must be an integer from 1 to 1000, not 5000.\n\
             'offset' must be an integer of at least 0, not -1.",
        ),
        (json!({"query": 1}), "'query' must be a string, not 1."),
    ];
    for (arguments, expected) in cases {
        assert_eq!(fail(&client, "query_database", &arguments), expected);
    }
    let lenient = json!({"query": "SELECT 1", "limit": "3", "limt": 3});
    assert!(!client.tool("query_database", &lenient).1);
}

#[test]
fn count_rows_is_listed_and_named_only_where_it_is_there() {
    let sql =
        "CREATE SCHEMA sales; CREATE TABLE sales.orders AS SELECT generate_series(1, 3) AS id;
        CREATE TABLE \"a.b\" AS SELECT 1 AS id";
    let postgres = Postgres::with(sql);
    let paged = json!({"query": "SELECT * FROM sales.orders", "limit": 1});
    for is_on in [true, false] {
        let home = Home::new();
        let entry = postgres.entry("main");
        home.configure(&format!(
            "databases:\n{entry}builtins: {{tools: {{count_rows: {is_on}}}}}\n"
        ));
        let (_program, client) = home.serve(&["-no-auth"]);
        assert_eq!(names(&client).iter().any(|it| it == "count_rows"), is_on);
        let answer = succeed(&client, "query_database", &paged);
        assert_eq!(answer.contains("count_rows"), is_on, "{answer}");
        assert!(client.query("SELECT 1").contains("SELECT 1"));
        if is_on {
            for (table, count) in [("sales.orders", 3), ("\"sales\".\"orders\"", 3), ("a.b", 1)] {
                let answer = succeed(&client, "count_rows", &json!({"table": table}));
                assert!(answer.ends_with(&format!("Count: {count}")), "{answer}");
            }
        }
    }
}

#[test]
fn an_error_names_a_schema_tool_that_is_listed() {
    let postgres = Postgres::new();
    let cases = [
        ("{}", Some("search_schema")),
        ("{search_schema: false}", Some("get_schema_info")),
        ("{search_schema: false, get_schema_info: false}", None),
    ];
    for (tools, expected) in cases {
        let home = Home::new();
        let entry = postgres.entry("main");
        home.configure(&format!(
            "databases:\n{entry}builtins: {{tools: {tools}}}\n"
        ));
        let (_program, client) = home.serve(&["-no-auth"]);
        let error = fail(&client, "query_database", &json!({"query": "TABLE zzzzz"}));
        let hint = error.split_once("\nHINT: ").map(|(_, hint)| hint);
        let expected = expected.map(|tool| format!("{tool} shows tables and their columns."));
        assert_eq!(hint, expected.as_deref(), "{error}");
        let arguments = json!({"query_text": "ferns", "table_name": "zzzzz"});
        let error = fail(&client, "similarity_search", &arguments);
        let names_it = !tools.contains("get_schema_info");
        assert_eq!(error.contains("get_schema_info("), names_it, "{error}");
    }
}

#[test]
fn the_default_list_of_tools_is_short() {
    let (_postgres, home) = configured("");
    let (_program, client) = home.serve(&["-no-auth"]);
    let list = Value::Array(tools(&client)).to_string();
    assert!(
        list.chars().count() <= LONGEST_LIST,
        "{} {list}",
        list.chars().count()
    );
    let names = names(&client);
    // These need an embedding provider, and none is configured.
    for absent in [
        "generate_embedding",
        "similarity_search",
        "search_knowledgebase",
    ] {
        assert!(!names.iter().any(|it| it == absent), "{names:?}");
    }
    for present in [
        "query_database",
        "get_schema_info",
        "count_rows",
        "list_databases",
    ] {
        assert!(names.iter().any(|it| it == present), "{names:?}");
    }
}

#[test]
fn a_tool_that_only_new_clients_have_is_unknown_to_old_ones() {
    let (_postgres, home) = configured("builtins: {tools: {list_databases: false}}\n");
    let (_program, client) = home.serve(&["-no-auth"]);
    let params = json!({"name": "list_databases", "arguments": {}});
    let unknown = json!({"name": "list_nothing", "arguments": {}});
    let [hidden, unknown] = [params, unknown].map(|params| {
        let answer = client.call("tools/call", &params).to_string();
        answer
            .replace("list_databases", "X")
            .replace("list_nothing", "X")
    });
    assert_eq!(hidden, unknown);
}
