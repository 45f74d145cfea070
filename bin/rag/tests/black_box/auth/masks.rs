//! Masked columns: an asker with masks has nothing of their values, and tables of which the searched
//! columns are masked are left out.

mod closed;
mod filters;
mod shown;

use std::fmt::Write as _;

use serde_json::{Value, json};
use ziggurat_black_box::{Answer, Postgres, Program, until};
use ziggurat_fake_providers::{Api, Fake, Turn};
use ziggurat_layers::bearer::TokenHash;

use crate::support::{Client, Home, database, library, server};

const ASK: &str = "/v1/pipelines/docs";
const QUESTION: &str = "What do ferns like?";

/// The texts of which an asker with masks may see nothing.
const SECRETS: [&str; 5] = ["plum", "quince", "cherry", "berta@fern.example", "4111"];

/// The documents with labels that hold secrets, and texts with an address and the number of a card.
const LABELS: &str = "
    ALTER TABLE documents ADD COLUMN title text, ADD COLUMN url text, ADD COLUMN lang text,
        ADD COLUMN part int;
    UPDATE documents SET title = 'Quince ' || id, url = 'https://a.example/cherry/' || id,
        lang = 'en', part = substr(id, 5)::int, id = 'plum-' || id,
        content = content || ' Ask berta@fern.example, who pays with 4111 1111 1111 1111.';";

/// Columns of the table in the configuration.
const COLUMNS: &str = "table: documents, text_column: content, vector_column: embedding, id_column: \
    id, title_column: title, url_column: url";

/// A server with an asker for whom columns are masked, one for whom they are not, and a model that
/// keeps what it is sent.
struct Masked {
    postgres: Postgres,
    fake: Fake,
    home: Home,
}

/// A client with a token.
struct Asker(Client);

impl Masked {
    /// Takes the entries of tables and of masked columns.
    fn new(tables: &str, masks: &str) -> Self {
        let postgres = library();
        postgres.run(LABELS);
        Self::with(postgres, tables, masks)
    }

    fn with(postgres: Postgres, tables: &str, masks: &str) -> Self {
        let (fake, mut home) = (Fake::start(), Home::new());
        home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
        fake.always(Turn::text("Ferns like shade and damp soil [1]."));
        let tokens = home.file("tokens.yaml").display().to_string();
        home.write("mask-key", "0123456789abcdef0123456789abcdef");
        let mut yaml = server(&format!(
            "  openai_compatible: true\n  auth: {{token_file: {tokens}}}\n"
        ));
        let key = home.file("mask-key").display().to_string();
        let _ = write!(
            yaml,
            "masking: {{key_file: {key}}}\npipelines:\n- name: docs\n  database: {}\n  tables: \
             [{tables}]\n  masks: [{masks}]\n  embedding_llm: {{provider: local}}\n  rag_llm: \
             {{provider: anthropic, model: m, base_url: '{}', max_retries: 0}}\n  \
             allow_include_sources: true\n  allow_debug: true\n  search: {{expand: 1}}\n",
            database(&postgres),
            fake.url(Api::Anthropic),
        );
        if !tables.contains("document_column") {
            yaml = yaml.replace("  search: {expand: 1}\n", "");
        }
        home.configure(&yaml);
        let token = |name: &str| {
            format!(
                "  - id: {name}\n    hash: {}\n    note: by hand\n    created_at: \
                 \"2026-01-01T00:00:00Z\"\n",
                TokenHash::of(name)
            )
        };
        let tokens = token("masked") + &token("open");
        home.write("tokens.yaml", &format!("tokens:\n{tokens}"));
        Self {
            postgres,
            fake,
            home,
        }
    }

    /// Serves, and returns the asker with masks and the other one.
    fn serve(&self) -> (Program, Asker, Asker) {
        let (program, client) = self.home.serve();
        until("the server is ready", || client.get("/ready").status == 200);
        let asker = |name: &str| Asker(client.bearing(name));
        (program, asker("masked"), asker("open"))
    }

    /// Returns all that the model was sent.
    fn sent(&self) -> String {
        let requests = self.fake.requests();
        let bodies = requests.iter().map(|it| String::from_utf8_lossy(&it.body));
        bodies.collect::<Vec<_>>().join("\n")
    }
}

impl Asker {
    fn post(&self, path: &str, body: &Value) -> Answer {
        self.0.post(path, &body.to_string())
    }

    /// Asks for all that an answer may tell.
    fn ask(&self, more: &Value) -> Answer {
        let mut body = json!({"query": QUESTION, "include_sources": true, "citations": true,
            "debug": true});
        let members = body.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("an object").clone());
        self.post(ASK, &body)
    }

    fn call(&self, method: &str, params: &Value) -> Value {
        let headers = "content-type: application/json\r\nmcp-protocol-version: 2025-11-25\r\n\
            accept: application/json, text/event-stream\r\n";
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.0
            .send("POST", "/mcp", headers, &message.to_string())
            .json()
    }

    fn tool(&self, name: &str, arguments: &Value) -> Value {
        self.call("tools/call", &json!({"name": name, "arguments": arguments}))["result"].clone()
    }

    /// Returns what each entrance tells of the documents, by its name.
    fn everything(&self) -> Vec<(&'static str, String)> {
        let query = json!({"query": QUESTION});
        let stream = json!({"query": QUESTION, "stream": true, "stream_sources": true,
            "citations": true, "debug": true});
        let chat = |stream: bool| {
            let messages = json!([{"role": "user", "content": QUESTION}]);
            let body = json!({"model": "docs", "messages": messages, "stream": stream});
            self.post("/v1/chat/completions", &body).body
        };
        let complete = json!({
            "ref": {"type": "ref/resource", "uri": "rag://{pipeline}/{id}"},
            "argument": {"name": "id", "value": ""},
            "context": {"arguments": {"pipeline": "docs"}},
        });
        let read = json!({"id": "plum-doc-0"});
        vec![
            ("answer", self.ask(&json!({})).body),
            ("stream", self.post(ASK, &stream).body),
            ("chat", chat(false)),
            ("chat stream", chat(true)),
            ("search", self.tool("search_documents", &query).to_string()),
            ("ask", self.tool("ask_documents", &query).to_string()),
            ("read", self.tool("read_document", &read).to_string()),
            ("list", self.call("resources/list", &json!({})).to_string()),
            (
                "resource",
                self.call("resources/read", &json!({"uri": "rag://docs/plum-doc-0"}))
                    .to_string(),
            ),
            (
                "completion",
                self.call("completion/complete", &complete).to_string(),
            ),
        ]
    }
}

/// Returns the secrets that a text has, but for what the asker has sent itself.
fn secrets(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let text = text.replace("the id \\\"plum-doc-0\\\"", "");
    let text = text.replace("rag://docs/plum-doc-0", "");
    let mut found = SECRETS.to_vec();
    found.retain(|secret| text.contains(secret));
    found
}
