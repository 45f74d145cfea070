//! Shared parts of the tests: the files of a server, the program, and tables to search.

use std::{
    fmt::Write as _,
    ops::{Deref, DerefMut},
    process::Command,
};

use ziggurat_black_box::{Folder, Postgres, Program, Ran, output};
use ziggurat_fake_providers::{Api, Fake};
use ziggurat_runtime::listen::HeldPort;

pub(crate) use ziggurat_black_box::Client;

/// A folder with the files of one server.
pub(crate) struct Home(Folder);

impl Deref for Home {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.0
    }
}

impl DerefMut for Home {
    fn deref_mut(&mut self) -> &mut Folder {
        &mut self.0
    }
}

impl Home {
    /// Creates an empty folder.
    pub(crate) fn new() -> Self {
        Self(Folder::new())
    }

    /// Creates a folder with this configuration.
    pub(crate) fn with(yaml: &str) -> Self {
        let home = Self::new();
        home.configure(yaml);
        home
    }

    /// Replaces the configuration file by a new one, as editors do.
    pub(crate) fn configure(&self, yaml: &str) {
        self.write("ziggurat-rag.yaml", yaml);
    }

    /// Replaces a file by a new one.
    pub(crate) fn write(&self, name: &str, text: &str) {
        self.replace(&self.file(name), text);
    }

    /// Returns the program with only these arguments and the environment of this folder.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Command {
        self.0
            .command(env!("CARGO_BIN_EXE_ziggurat-rag"), arguments)
    }

    /// Returns the program with the configuration of this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare(arguments);
        command.arg("-config").arg(self.file("ziggurat-rag.yaml"));
        command
    }

    /// Runs the program to its end, and returns its output and its exit code.
    pub(crate) fn ran(&self, arguments: &[&str]) -> Ran {
        Ran::from(output(&mut self.command(arguments)))
    }

    /// Starts the server and waits until it listens.
    pub(crate) fn serve(&self) -> (Program, Client) {
        let program = Program::start_on_stdout(&mut self.command(&[]));
        let line = program.wait_for("msg=\"starting server\"");
        let address = line.split("address=").nth(1);
        let address = address.and_then(|rest| rest.split(' ').next());
        let address = address.unwrap_or_else(|| panic!("an address in {line}"));
        (program, Client::new(address.to_owned()))
    }
}

/// Returns a port without a listener, which is held until the tests end.
pub(crate) fn free_port() -> u16 {
    let held = Box::leak(Box::new(HeldPort::new().expect("a port")));
    held.number()
}

/// Returns a `server` section with a free port and these further keys.
pub(crate) fn server(more: &str) -> String {
    let port = free_port();
    format!("server:\n  listen_address: 127.0.0.1\n  port: {port}\n{more}")
}

/// Returns a pipeline entry with local models, this database and these further keys.
pub(crate) fn pipeline(name: &str, postgres: &Postgres, more: &str) -> String {
    let models = "  embedding_llm: {provider: local}\n  rag_llm: {provider: local}\n";
    described(name, &database(postgres), &format!("{models}{more}"))
}

/// Returns a pipeline entry with this fake provider as its completion model.
pub(crate) fn asking(name: &str, postgres: &Postgres, fake: &Fake, more: &str) -> String {
    let models = format!(
        "  embedding_llm: {{provider: local}}\n  rag_llm: {{provider: anthropic, model: m, \
         base_url: '{}', max_retries: 0}}\n",
        fake.url(Api::Anthropic)
    );
    described(name, &database(postgres), &format!("{models}{more}"))
}

/// Returns a pipeline entry with an unreachable database.
pub(crate) fn nowhere(name: &str, more: &str) -> String {
    let database = "{host: 127.0.0.1, port: 1, database: none, username: nobody}";
    let models = "  embedding_llm: {provider: local}\n  rag_llm: {provider: local}\n";
    described(name, database, &format!("{models}{more}"))
}

/// Returns a pipeline entry with this database and these further keys.
pub(crate) fn described(name: &str, database: &str, more: &str) -> String {
    format!(
        "- name: {name}\n  database: {database}\n  tables: [{{table: documents, text_column: \
         content, vector_column: embedding, id_column: id}}]\n{more}"
    )
}

/// Returns the connection settings of a database, as the value of a key.
pub(crate) fn database(postgres: &Postgres) -> String {
    let [(_, host), (_, port), (_, name), (_, user), (_, password)] = postgres.environment();
    format!(
        "{{host: '{host}', port: {port}, database: {name}, username: {user}, password: \
         '{password}'}}"
    )
}

/// Returns a database with three documents, one of them about ferns.
pub(crate) fn library() -> Postgres {
    let documents = [
        "Ferns like shade and damp soil.",
        "Wool is washed in cold water.",
        "A kettle is descaled with vinegar.",
    ];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let embedder = ziggurat_llm::Embedder::local();
    let mut sql = String::from(
        "CREATE EXTENSION IF NOT EXISTS vector;
         CREATE TABLE documents (id text, content text, embedding vector(256));\n",
    );
    for (index, text) in documents.iter().enumerate() {
        let embedding = runtime.block_on(embedder.embed(text)).expect("a vector");
        let vector = format!("{:?}", embedding.vector);
        let _ = writeln!(
            sql,
            "INSERT INTO documents VALUES ('doc-{index}', '{text}', '{vector}');"
        );
    }
    Postgres::with(&sql)
}

/// Returns the body of a question.
pub(crate) fn question(text: &str) -> String {
    serde_json::json!({"query": text}).to_string()
}
