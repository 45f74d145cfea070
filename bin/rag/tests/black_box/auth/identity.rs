//! A database that knows its askers: each sees its own documents, and nothing tells of others.

use std::{fs, os::unix::fs::PermissionsExt as _};

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::{Answer, FakeIssuer, Postgres, Program, until};
use ziggurat_layers::bearer::TokenHash;

use crate::support::{Client, Home, described, library, server};

const ASK: &str = "/v1/pipelines/docs";
const CHAT: &str = "/v1/chat/completions";
const CLOSED: &str =
    "{\"error\":{\"code\":\"FORBIDDEN\",\"message\":\"this pipeline is not open to you\"}}\n";
const QUESTION: &str = "What do ferns like?";

/// Headers of a call of a tool.
const CALL: &str = "content-type: application/json\r\nmcp-protocol-version: 2025-11-25\r\n\
    accept: application/json, text/event-stream\r\n";

/// Rules with the claim `role` of a token.
const ROLES: &str =
    "roles: [{token: token-9, role: BOSS}, {claim: role, match: '^[a-z0-9_]+$', role: '{}'}]";
const SETTINGS: &str = "settings: [{name: app.owner, from: {claim: role}}]";

/// Two tenants with the same documents, but for a word and the ids. No role may call `set_config`.
const TENANTS: &str = "
    ALTER TABLE documents ADD COLUMN owner text;
    UPDATE documents SET owner = 'ONE', id = 'one-' || id, content = 'First: ' || content;
    INSERT INTO documents SELECT 'two' || substr(id, 4), replace(content, 'First', 'Second'),
        embedding, 'TWO' FROM documents;
    ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON documents USING (owner = current_user
        OR owner = nullif(current_setting('app.owner', true), ''));
    GRANT SELECT ON documents TO \"ONE\", \"TWO\", \"BOSS\", \"BARE\";
    ALTER ROLE \"BOSS\" BYPASSRLS;
    ALTER ROLE \"LOGIN\" NOINHERIT;
    GRANT \"ONE\", \"TWO\", \"BOSS\" TO \"LOGIN\";
    REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;";

/// A server for two tenants, one who bypasses row security, one with a role that has no password and is
/// none of the login, and one without a role.
struct Tenants {
    postgres: Postgres,
    home: Home,
    roles: [String; 4],
}

impl Tenants {
    fn connect_as() -> Self {
        Self::new(
            &format!("mode: connect_as, credentials: roles, {ROLES}"),
            "",
        )
    }

    fn set_role(more: &str) -> Self {
        Self::new(&format!("mode: set_role, {ROLES}"), more)
    }

    fn by_setting() -> Self {
        let tenants = Self::new(SETTINGS, "");
        tenants.run("GRANT SELECT ON documents TO PUBLIC");
        tenants
    }

    fn new(identity: &str, more: &str) -> Self {
        let mut postgres = library();
        let roles = [(); 4].map(|()| postgres.role());
        let login = postgres.role();
        let named = |text: &str| {
            let [one, two, boss, bare] = &roles;
            let text = text.replace("ONE", one).replace("TWO", two);
            let text = text.replace("BOSS", boss).replace("BARE", bare);
            text.replace("LOGIN", &login)
        };
        postgres.run(&named(TENANTS));
        let home = Home::new();
        let tokens = home.file("tokens.yaml").display().to_string();
        let server = server(&format!(
            "  openai_compatible: true\n  auth: {{token_file: {tokens}}}\n"
        ));
        let [(_, host), (_, port), (_, name), ..] = postgres.environment();
        let reached = format!(
            "{{host: '{host}', port: {port}, database: {name}, username: {login}, password: \
             {login}, identity: {{{}}}{more}}}",
            named(identity)
        );
        let pipeline = described(
            "docs",
            &reached,
            "  embedding_llm: {provider: local}\n  rag_llm: {provider: local}\n  \
             allow_include_sources: true\n  allow_debug: true\n",
        );
        home.configure(&format!("{server}pipelines:\n{pipeline}"));
        let tenants = Self {
            postgres,
            home,
            roles,
        };
        tenants.write_files();
        tenants
    }

    fn write_files(&self) {
        let [one, two, boss, bare] = &self.roles;
        fs::create_dir(self.home.file("roles")).expect("made");
        for role in [one, two, boss] {
            self.write_password(role, role);
        }
        let token = |number: u32, claims: &str| {
            format!(
                "  - id: token-{number}\n    hash: {}\n    note: by hand\n    created_at: \
                 \"2026-01-01T00:00:00Z\"\n    claims: {{{claims}}}\n",
                TokenHash::of(&format!("secret-{number}"))
            )
        };
        let claim = |role: &str| format!("role: {role}");
        let tokens = [
            token(1, &claim(one)),
            token(2, &claim(two)),
            token(3, "other: x"),
            token(4, &claim(bare)),
            token(5, &claim(one)),
            token(9, ""),
        ];
        self.home
            .write("tokens.yaml", &format!("tokens:\n{}", tokens.concat()));
    }

    fn write_password(&self, role: &str, password: &str) {
        let file = self.home.file("roles").join(format!("{role}.password"));
        fs::write(&file, password).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("private");
    }

    fn configuration(&self) -> String {
        fs::read_to_string(self.home.file("ziggurat-rag.yaml")).expect("a configuration")
    }

    fn run(&self, sql: &str) {
        self.postgres.run(sql);
    }

    fn serve(&self) -> (Program, Asker) {
        let (program, client) = self.home.serve();
        until("the server is ready", || client.get("/ready").status == 200);
        (program, Asker(client))
    }
}

/// A client with the token of one of the askers.
struct Asker(Client);

impl Asker {
    fn bearing(&self, number: u32) -> Self {
        Self(self.0.bearing(&format!("secret-{number}")))
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.0.post(path, &body.to_string())
    }

    /// Asks for all that an answer may tell.
    fn ask(&self) -> Answer {
        self.post(
            ASK,
            &json!({"query": QUESTION, "include_sources": true, "citations": true, "debug": true}),
        )
    }

    fn stream(&self) -> Answer {
        self.post(
            ASK,
            &json!({"query": QUESTION, "stream": true, "stream_sources": true, "citations": true}),
        )
    }

    fn chat(&self, stream: bool) -> Answer {
        let messages = json!([{"role": "user", "content": QUESTION}]);
        self.post(
            CHAT,
            &json!({"model": "docs", "messages": messages, "stream": stream}),
        )
    }

    fn call(&self, method: &str, params: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.0
            .send("POST", "/mcp", CALL, &message.to_string())
            .json()
    }

    fn tool(&self, name: &str, arguments: &Value) -> Value {
        self.call("tools/call", &json!({"name": name, "arguments": arguments}))["result"].clone()
    }

    fn read(&self, id: &str) -> (Value, Value) {
        let uri = json!({"uri": format!("rag://docs/{id}")});
        (
            self.tool("read_document", &json!({"id": id})),
            self.call("resources/read", &uri),
        )
    }

    /// Returns the ids of documents that a client may complete.
    fn ids(&self) -> Value {
        let params = json!({
            "ref": {"type": "ref/resource", "uri": "rag://{pipeline}/{id}"},
            "argument": {"name": "id", "value": ""},
            "context": {"arguments": {"pipeline": "docs"}},
        });
        self.call("completion/complete", &params)["result"]["completion"]["values"].clone()
    }
}

/// Checks that two tenants see their own documents at every entrance.
fn each_sees_its_documents(tenants: &Tenants) {
    let (program, client) = tenants.serve();
    assert_eq!(client.0.get("/v1/health").json()["status"], "healthy");
    for (number, own, other) in [(1, "one", "two"), (2, "two", "one"), (1, "one", "two")] {
        let asker = client.bearing(number);
        let strange = if own == "one" { "Second" } else { "First" };
        let best = format!("{own}-doc-0");
        let answer = asker.ask();
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["sources"][0]["id"], best, "{answer:?}");
        let search = asker.tool("search_documents", &json!({"query": QUESTION, "top_n": 10}));
        assert_eq!(
            search["structuredContent"]["passages"][0]["id"], best,
            "{search}"
        );
        let told = [
            answer.body,
            asker.stream().body,
            asker.chat(false).body,
            asker.chat(true).body,
            search.to_string(),
            asker
                .tool("ask_documents", &json!({"query": QUESTION}))
                .to_string(),
            asker.ids().to_string(),
        ];
        for told in told {
            assert!(
                told.contains("Ferns") || told.contains(&best),
                "{own}: {told}"
            );
            let is_told = told.contains(&format!("{other}-doc")) || told.contains(strange);
            assert!(!is_told, "{own}: {told}");
        }
        let (read, resource) = asker.read(&format!("{other}-doc-0"));
        assert_eq!(read["isError"], true, "{read}");
        assert!(resource["error"].is_object(), "{resource}");
        assert!(asker.read(&best).0.to_string().contains("Ferns"));
    }
    drop(program);
}

#[test]
fn askers_that_log_in_see_their_own_documents() {
    each_sees_its_documents(&Tenants::connect_as());
}

#[test]
fn askers_with_a_set_role_see_their_own_documents_on_one_connection() {
    let tenants = Tenants::set_role(", max_connections: 1");
    each_sees_its_documents(&tenants);
}

#[test]
fn askers_with_a_setting_see_their_own_documents() {
    let tenants = Tenants::by_setting();
    each_sees_its_documents(&tenants);
    let (program, client) = tenants.serve();
    assert_eq!(client.bearing(3).ask().body, CLOSED);
    program.wait_for("setting app.owner needs a fact that is missing");
}

/// Returns what an answer tells besides times.
fn scores(asker: &Asker) -> Value {
    let answer = asker.ask().json();
    let candidates = &answer["debug"]["candidates"];
    assert!(
        candidates["keyword"]
            .as_array()
            .is_some_and(|it| !it.is_empty()),
        "{answer}"
    );
    json!([
        answer["answer"],
        answer["sources"],
        answer["citations"],
        candidates
    ])
}

#[test]
fn no_score_changes_with_the_documents_of_others() {
    let tenants = Tenants::set_role("");
    let (first, client) = tenants.serve();
    let before = scores(&client.bearing(1));
    drop(first);
    // So many that the table is not small any more, with the words of the question.
    let [_, two, ..] = &tenants.roles;
    tenants.run(&format!(
        "INSERT INTO documents SELECT 'two-more-' || n, content || ' Ferns, ferns like it ' || n, \
         embedding, '{two}' FROM documents, generate_series(1, 1500) AS n \
         WHERE id LIKE 'two-%'; ANALYZE documents;"
    ));
    let (_second, client) = tenants.serve();
    // The server keeps figures of the table for this one first.
    assert_ne!(scores(&client.bearing(2)), before);
    assert_eq!(scores(&client.bearing(1)), before);
    // The same role by another token, of which the server knows all by now.
    assert_eq!(scores(&client.bearing(5)), before);
}

#[test]
fn an_asker_without_a_good_role_is_told_nothing_but_that() {
    for (tenants, whys) in [
        (
            Tenants::connect_as(),
            [
                (3, "no rule fits the caller"),
                (4, "credentials"),
                (9, "BYPASSRLS"),
            ],
        ),
        (
            Tenants::set_role(""),
            [
                (3, "no rule fits the caller"),
                (4, "permission denied"),
                (9, "BYPASSRLS"),
            ],
        ),
    ] {
        let (program, client) = tenants.serve();
        for (number, why) in whys {
            let asker = client.bearing(number);
            let listed = asker.0.get("/v1/pipelines").json();
            assert_eq!(listed["pipelines"][0]["name"], "docs", "{number}");
            for answer in [asker.ask(), asker.stream()] {
                assert_eq!((answer.status, &*answer.body), (403, CLOSED), "{number}");
            }
            for stream in [false, true] {
                let answer = asker.chat(stream);
                let expected = json!({"error": {"message": "this pipeline is not open to you",
                    "type": "invalid_request_error", "param": null, "code": "forbidden"}});
                assert_eq!((answer.status, answer.json()), (403, expected), "{number}");
            }
            let query = json!({"query": QUESTION});
            for tool in ["ask_documents", "search_documents"] {
                let result = asker.tool(tool, &query);
                assert_eq!(result["isError"], true, "{number}: {result}");
                let text = &result["content"][0]["text"];
                assert_eq!(text, "this pipeline is not open to you", "{number}");
            }
            assert_eq!(asker.ids(), json!([]), "{number}");
            program.wait_for(why);
        }
    }
}

#[test]
fn a_database_that_lets_no_asker_in_is_named_at_the_start() {
    let refused = "a database is not open to its askers";
    let tenants = Tenants::new("mode: set_role, otherwise: no_such_role", "");
    let (program, _asker) = tenants.serve();
    let line = program.wait_for(refused);
    assert!(line.contains("role no_such_role: "), "{line}");
    let tenants = Tenants::new("mode: set_role, otherwise: ONE", "");
    let (program, asker) = tenants.serve();
    assert_eq!(asker.bearing(3).ask().status, 200);
    assert!(!program.log().contains(refused), "{}", program.log());
}

#[test]
fn masks_hold_for_an_asker_beside_its_role() {
    let tenants = Tenants::set_role("");
    let masks = "  allow_debug: true\n  masks: [{column: public.documents.id, mask: fixed, for: \
                 {tokens: [token-1]}}, {column: public.documents.content, mask: fixed, for: \
                 {tokens: [token-2]}}]\n";
    let text = tenants.configuration();
    tenants
        .home
        .configure(&text.replace("  allow_debug: true\n", masks));
    let (_program, client) = tenants.serve();
    // The last one has the role of the first.
    for (number, id) in [(1, "***"), (5, "one-doc-0"), (1, "***"), (2, "")] {
        let answer = client.bearing(number).ask();
        let told = answer.json()["sources"][0]["id"].clone();
        assert_eq!(told.as_str().unwrap_or_default(), id, "{answer:?}");
        assert_eq!(answer.body.contains("one-doc"), number == 5, "{answer:?}");
        assert_eq!(answer.body.contains("Ferns"), number != 2, "{answer:?}");
        assert_eq!(
            (answer.status, answer.body.contains("Second")),
            (200, false)
        );
    }
}

#[test]
fn records_have_the_role_and_one_mark_for_each_role_and_its_settings() {
    let tenants = Tenants::set_role("");
    let text = tenants.configuration();
    tenants
        .home
        .configure(&format!("audit: {{file: audit.jsonl}}\n{text}"));
    let (mut program, client) = tenants.serve();
    for number in [1, 2, 5, 3] {
        let asker = client.bearing(number);
        asker.ask();
        asker.stream();
        asker.chat(false);
        asker.tool("search_documents", &json!({"query": QUESTION}));
        asker.read("x");
    }
    program.signal(Signal::TERM);
    program.ended();
    let lines = fs::read_to_string(tenants.home.file("audit.jsonl")).expect("a trail");
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let calls = lines.filter(|line| line["kind"] == "call");
    let seen: Vec<_> = calls
        .map(|line| ["role", "identity"].map(|key| line[key].as_str().unwrap_or("").to_owned()))
        .collect();
    assert_eq!(seen.len(), 24, "{seen:?}");
    let [one, two, ..] = &tenants.roles;
    let of = |at: usize| &seen[6 * at..6 * at + 6];
    for (at, role) in [(0, &**one), (1, two), (2, one), (3, "")] {
        let [_, mark] = &of(at)[0];
        assert_eq!(mark.len(), if role.is_empty() { 0 } else { 16 }, "{seen:?}");
        let expected = [role.to_owned(), mark.clone()];
        assert!(of(at).iter().all(|it| *it == expected), "{at}: {seen:?}");
    }
    assert_eq!(of(0), of(2), "the same role and settings");
    assert_ne!(of(0)[0][1], of(1)[0][1]);
}

#[test]
fn a_reload_reads_the_files_of_roles_and_the_rules_again() {
    let tenants = Tenants::connect_as();
    let (program, client) = tenants.serve();
    let bare = &tenants.roles[3];
    let asker = client.bearing(4);
    assert_eq!(asker.ask().status, 403);
    tenants.write_password(bare, "wrong");
    assert_eq!(asker.ask().status, 403);
    tenants.write_password(bare, bare);
    program.signal(Signal::HUP);
    until("the new password", || asker.ask().status == 200);
    let text = tenants.configuration();
    let text = text.replace("claim: role", "claim: other");
    tenants.home.configure(&text);
    until("the new rules", || client.bearing(1).ask().status == 403);
}

#[test]
fn a_claim_of_an_issuer_gives_the_role_once_it_is_kept() {
    let issuer = FakeIssuer::start();
    let tenants = Tenants::set_role("");
    let url = &issuer.url;
    let auth = format!(
        "auth: {{issuer: {{url: '{url}', jwks_url: '{url}/keys', public_url: 'https://rag.example', \
         when_unreachable: accept}}, "
    );
    let text = tenants.configuration().replace("auth: {", &auth);
    tenants.home.configure(&text);
    let (_program, client) = tenants.serve();
    let asker = |subject: &str| {
        let claims = json!({"role": tenants.roles[1]});
        let token = issuer.token("https://rag.example/v1", subject, &claims);
        Asker(client.0.bearing(&token))
    };
    assert_eq!(asker("ann").ask().body, CLOSED);
    tenants
        .home
        .configure(&format!("identity: {{claims: [role]}}\n{text}"));
    let mut number = 0;
    until("the claim is kept", || {
        number += 1;
        asker(&format!("bob-{number}")).ask().status == 200
    });
    let answer = asker("bob").ask();
    assert_eq!(answer.json()["sources"][0]["id"], "two-doc-0", "{answer:?}");
}
