//! Proof that no value changes a statement: what PostgreSQL logs is the same for all of them.

use std::{
    collections::{HashMap, HashSet},
    fs,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::home;
use crate::support::{Client, Postgres};

/// Values for each type.
const VALUES: usize = 500;

const TABLE: &str = "CREATE TABLE kinds (string text, integer bigint, number numeric,
    boolean boolean, enum text, date date, timestamp timestamptz, uuid uuid, json jsonb,
    \"array\" text[])";

/// Types, the keys of their parameters, a value that is right, and what a value must be.
const TYPES: [(&str, &str, &str, &[&str]); 11] = [
    (
        "string",
        "",
        "a b",
        &["a string", "a string of 0 to 10000 characters"],
    ),
    (
        "integer",
        "",
        "42",
        &[
            "an integer",
            "an integer from -9223372036854775808 to 9223372036854775807",
        ],
    ),
    ("number", "", "1.50", &["a number"]),
    ("boolean", "", "true", &["true or false"]),
    (
        "enum",
        ", allowed: [red, \"it's\"]",
        "it's",
        &["one of red, it's"],
    ),
    ("date", "", "2026-01-31", &["a date such as 2026-01-31"]),
    (
        "timestamp",
        "",
        "2026-01-31T12:00:00Z",
        &["a date and time such as 2026-01-31T12:00:00Z"],
    ),
    (
        "uuid",
        "",
        "123e4567-e89b-12d3-a456-426614174000",
        &["a UUID"],
    ),
    ("json", "", "{\"a\": 1}", &["JSON of at most 65536 bytes"]),
    (
        "array",
        ", items: {type: string}",
        "[\"a\"]",
        &[
            "a list",
            "a string",
            "a list of 0 to 1000 values",
            "a string of 0 to 10000 characters",
        ],
    ),
    (
        "identifier",
        ", allowed: [string, enum]",
        "enum",
        &["one of string, enum"],
    ),
];

/// Pieces of texts that leave strings, names, comments and statements, or look like others.
const PIECES: &[&str] = &[
    "'",
    "''",
    "\"",
    "\\",
    "\\'",
    ";",
    "--",
    "/*",
    "*/",
    "$$",
    "$a$",
    "$1",
    ":v",
    ":\"v\"",
    "::text",
    "(",
    ")",
    "\n",
    "\r",
    "\t",
    " OR 1=1",
    "; DROP TABLE kinds",
    "E'",
    "U&'",
    "\\x27",
    "%27",
    "{",
    "}",
    ",",
    "NULL",
    "COMMIT;",
    "\u{2019}",
    "\u{ff07}",
    "\u{200b}",
    "é",
    "\u{1f600}",
    "\u{1}",
    "\u{0}",
    "\\N",
    "0x27",
    "\u{202e}",
    "ｅｎｕｍ",
    "еnum",
    "\u{ff11}",
    "\u{661}",
    "string",
    "enum",
    "red",
    "infinity",
    "-infinity",
    "NaN",
    "epoch",
    "now",
    "today",
    "2026-02-30",
    "0000-01-01",
    "2026-01-31T24:00:00Z",
    "2026-01-31T12:00:60Z",
    "10000-01-01",
    "BC",
    "true",
    "1",
    "1e3",
    "-",
];

/// Values as they are written in JSON.
const WRITTEN: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1.0",
    "1e3",
    "1E+400",
    "-1e-400",
    "1e131071",
    "1e131072",
    "1e-16383",
    "1e-16384",
    "0e999999999999",
    "1e2147483648",
    "1e-2147483648",
    "1e99999999999999999999",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "0.1000000000000000055511151231257827",
    "[]",
    "{}",
    "[[]]",
    "[null]",
    "[1e400]",
    "[\"a\", 1]",
    "{\"a\": 1e308}",
    "{\"a\": 1e-99999}",
    "{\"$1\": {\"\\u0000\": 1}}",
    "[\"\\u0000\"]",
    "\"\\ud800\"",
    "\"\\u0027; --\"",
    "\"\\u0000\"",
    "\"\\\\u0000\"",
    "[\"\\\\u0000\", \"NULL\", \"{}\"]",
    "\"Infinity\"",
    "[true, \"'\"]",
    "{\"v\": {\"v\": \"'\"}}",
    "\"TRUE\"",
    "\"RED\"",
    "\"String\"",
    "\"123E4567-E89B-12D3-A456-426614174000\"",
    "\"{123e4567-e89b-12d3-a456-42661417400}\"",
    "\"2026-01-31t12:00:00.999999999+14:00\"",
    "\"2026-01-31 12:00:00\"",
    "\"9999-12-31\"",
    "\"0001-01-01\"",
    "\"2026-01-31T12:00:00\"",
    "01",
    "+1",
    ".5",
    "1.",
    "0x1F",
    "1_000",
    "NaN",
    "'a'",
];

/// Objects of arguments with wrong names; `@` stands for a value that is right.
const NAMES: &[&str] = &[
    r#"{"V": @}"#,
    r#"{"v": @, "V": @}"#,
    r#"{"v": @, "v": @}"#,
    r#"{"v": @, "\u0076": @}"#,
    r#"{"\u0076": @}"#,
    r#"{" v": @}"#,
    r#"{"v ": @}"#,
    r#"{"ｖ": @}"#,
    r#"{"ν": @}"#,
    r#"{"v": @, "": 1}"#,
    r#"{"v\u0000": @}"#,
    r#"{"v": @, "$1": "'"}"#,
    r#"{"v": @, "1": "'"}"#,
    r#"{":v": @}"#,
    r#"{"__proto__": @, "v": @}"#,
    r#"{"v": @, "'; DROP TABLE kinds; --": 1}"#,
    "{}",
    r#"{"v": @,}"#,
    r#"{"v": @} {"v": 1}"#,
    "[@]",
    "null",
    "@",
];

/// The answer to a call.
enum Answer {
    /// The rows.
    Ran(Value),
    Refused(String),
}

/// Random numbers, the same at each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    fn pieces(&mut self) -> String {
        (0..=self.below(6)).map(|_| self.of(PIECES)).collect()
    }

    /// Returns a value that fits a type, or nearly.
    fn fitting(&mut self, kind: &str) -> String {
        let (a, b) = (self.below(1 << 30), self.below(100));
        match kind {
            "string" | "json" => Value::from(self.pieces()).to_string(),
            "integer" => format!("-{a}{b}"),
            "number" => format!("{a}.{b:0>20}e-{b}"),
            "boolean" => (a % 2 == 0).to_string(),
            "enum" => Value::from(self.of(&["red", "it's"])).to_string(),
            "date" => format!("\"{:04}-{:02}-{:02}\"", a % 10_000, b % 13, a % 32),
            "timestamp" => format!(
                "\"2026-{:02}-{:02}T{:02}:00:0{}.{a}Z\"",
                b % 13,
                a % 32,
                b % 25,
                a % 9
            ),
            "uuid" => format!("\"{a:08x}-{b:04x}-ABCD-ef01-{a:012x}\""),
            "array" => {
                Value::from(vec![self.pieces(), "NULL".to_owned(), self.pieces()]).to_string()
            }
            _ => Value::from(self.of(&["string", "enum"])).to_string(),
        }
    }

    /// Returns a value in JSON for a parameter of a type.
    fn value(&mut self, kind: &str, right: &str) -> String {
        match self.below(8) {
            0..=2 => self.fitting(kind),
            3 => self.of(WRITTEN).to_owned(),
            4 => format!("[{}, {}]", Value::from(self.pieces()), self.of(WRITTEN)),
            5 => format!("{{{}: {}}}", Value::from(self.pieces()), self.of(WRITTEN)),
            // A value that is right, with a piece somewhere.
            6 => {
                let (start, end) = right.split_at(self.below(right.len() + 1));
                Value::from(format!("{start}{}{end}", self.of(PIECES))).to_string()
            }
            _ => Value::from(self.pieces()).to_string(),
        }
    }
}

/// Returns the objects of arguments for the tool of a type.
fn arguments(kind: &str, right: &str) -> Vec<String> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let in_json = match kind {
        "integer" | "number" | "boolean" | "json" | "array" => right.to_owned(),
        _ => Value::from(right).to_string(),
    };
    let mut all: Vec<_> = NAMES
        .iter()
        .map(|names| names.replace('@', &in_json))
        .collect();
    let large = [
        format!("\"{}\"", "'".repeat(1 << 20)),
        "9".repeat(1 << 20),
        format!("[{}\"a\"]", "\"a\",".repeat(1_000)),
        format!("{}{}", "[".repeat(60_000), "]".repeat(60_000)),
        format!("{}{}", "[".repeat(100), "]".repeat(100)),
        format!("0.{}", "1".repeat(20_000)),
        format!("\"{}\"", "é".repeat(10_000)),
    ];
    let written = WRITTEN.iter().map(|value| (*value).to_owned());
    let values = large.into_iter().chain(written);
    all.extend(values.map(|value| format!("{{\"v\": {value}}}")));
    while all.len() < VALUES {
        all.push(format!("{{\"v\": {}}}", random.value(kind, right)));
    }
    all
}

fn send(client: &Client, tool: &str, arguments: &str) -> Answer {
    let params = format!(r#"{{"name": "{tool}", "arguments": {arguments}}}"#);
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let answer = client.post("/mcp/v1", &call);
    if answer.status == 413 {
        return Answer::Refused("too large".to_owned());
    }
    let answer = answer.json();
    if answer["error"].is_object() {
        return Answer::Refused(answer["error"]["code"].to_string());
    }
    let text = answer["result"]["content"][0]["text"]
        .as_str()
        .expect("a text");
    if answer["result"]["isError"] == true {
        return Answer::Refused(text.to_owned());
    }
    let read: Value = serde_json::from_str(text).expect(text);
    Answer::Ran(read["rows"].clone())
}

/// Returns the definitions: for each type a tool, and one that shows the plan.
fn definitions() -> String {
    let tool = |(kind, keys, _, _): (&str, &str, &str, &[&str])| {
        let parameter = format!("parameters: [{{name: v, type: {kind}{keys}}}]");
        let (shown, condition) = match kind {
            "identifier" => (r#"max(:"v") AS v FROM kinds"#, r#":"v" = 'x'"#.to_owned()),
            "json" => ("(:v)::text AS v", "json @> :v".to_owned()),
            kind => ("(:v)::text AS v", format!("\"{kind}\" = :v")),
        };
        format!(
            "- name: {kind}\n  description: D\n  result: json\n  {parameter}\n  \
             statement: SELECT 'tool {kind}' AS tool, {shown}\n\
             - name: plan_{kind}\n  description: D\n  result: value\n  {parameter}\n  \
             statement: EXPLAIN (COSTS OFF, FORMAT JSON) SELECT 1 FROM kinds WHERE {condition}\n"
        )
    };
    TYPES.map(tool).concat()
}

/// Returns whether a refusal says what it must, and nothing of the value.
fn is_known(refusal: &str, expected: &[&str]) -> bool {
    let of_value = |text: &str| {
        let text = text.split(" (item ").next().unwrap_or_default();
        expected.contains(&text)
    };
    match refusal.strip_prefix("Invalid argument 'v': must ") {
        Some("not hold a NUL character") => true,
        Some(text) => text.strip_prefix("be ").is_some_and(of_value),
        None => {
            let is_name = refusal
                .strip_prefix("Unknown argument: ")
                .is_some_and(|name| name != "v");
            is_name || ["Missing argument: v", "-32700", "-32602", "too large"].contains(&refusal)
        }
    }
}

/// Returns the statements of each transaction in a log that has a text.
fn transactions<'a>(log: &'a str, text: &str) -> Vec<Vec<&'a str>> {
    let mut open: HashMap<_, Vec<Vec<_>>> = HashMap::new();
    for line in log.lines() {
        let Some((process, said)) = line.split_once(" LOG:  ") else {
            continue;
        };
        if !said.starts_with("statement: ") && !said.starts_with("execute ") {
            continue;
        }
        // The check of a connection that was idle for a second, on a slow machine.
        if said.trim_end() == "statement:" {
            continue;
        }
        let of_process = open.entry(process).or_default();
        let begins = ["statement: BEGIN", "statement: SET TRANSACTION"];
        if of_process.is_empty() || begins.iter().any(|it| said.starts_with(it)) {
            of_process.push(Vec::new());
        }
        let last = of_process.last_mut().expect("a transaction");
        last.push(said);
    }
    let mut all: Vec<_> = open.into_values().flatten().collect();
    all.retain(|said| said.iter().any(|said| said.contains(text)));
    all
}

/// Returns a plan without the texts that show values.
fn shape(client: &Client, kind: &str, arguments: &str) -> Value {
    let params = format!(r#"{{"name": "plan_{kind}", "arguments": {arguments}}}"#);
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let answer = client.post("/mcp/v1", &call).json();
    let text = answer["result"]["content"][0]["text"]
        .as_str()
        .expect("a plan");
    let mut plan: Value = serde_json::from_str(text).expect(text);
    assert!(plan[0]["Plan"]["Filter"].take().is_string(), "{plan}");
    plan
}

#[test]
fn hostile_values_change_neither_statements_nor_plans() {
    let folder = TempDir::new().expect("a folder");
    let postgres = Postgres::logging(folder.path());
    postgres.run(TABLE);
    let home = home(&postgres, &definitions());
    let (_program, client) = home.serve(&["-no-auth"]);
    let log = || fs::read_to_string(folder.path().join("postgresql/log")).expect("a log");
    for (kind, _, right, expected) in TYPES {
        let start = log().len();
        let mut accepted = Vec::new();
        for arguments in arguments(kind, right) {
            match send(&client, kind, &arguments) {
                Answer::Ran(rows) => {
                    if ["string", "enum"].contains(&kind) {
                        let sent: Value = serde_json::from_str(&arguments).expect(&arguments);
                        assert_eq!(rows, json!([[format!("tool {kind}"), sent["v"]]]));
                    }
                    accepted.push(arguments);
                }
                Answer::Refused(refusal) => {
                    assert!(
                        is_known(&refusal, expected),
                        "{kind} {arguments:.200}: {refusal}"
                    );
                }
            }
        }
        let ran = accepted.len();
        assert!((10..VALUES - 10).contains(&ran), "{kind}: {ran}");
        let log = log();
        let transactions = transactions(&log[start..], &format!("'tool {kind}'"));
        assert_eq!(transactions.len(), ran, "{kind}");
        let different: HashSet<_> = transactions.into_iter().collect();
        let names = if kind == "identifier" { 2 } else { 1 };
        assert_eq!(different.len(), names, "{kind}: {different:?}");
        let first = shape(&client, kind, &accepted[0]);
        for arguments in accepted {
            assert_eq!(
                shape(&client, kind, &arguments),
                first,
                "{kind} {arguments:.200}"
            );
        }
    }
    assert_eq!(postgres.count("SELECT count(*) FROM kinds"), 0);
}
