//! The text that the demo prints when it is ready.

use std::{fmt, net::SocketAddr, path::Path};

use crate::{clients::Server, home};

/// The addresses and credentials to print.
pub(crate) struct Welcome<'a> {
    pub(crate) address: SocketAddr,
    /// The address of `ziggurat-rag`.
    pub(crate) answers: SocketAddr,
    /// The port of the metrics of `ziggurat-tools`.
    pub(crate) metrics: u16,
    /// The path of its audit trail.
    pub(crate) audit: &'a Path,
    pub(crate) token: &'a str,
    pub(crate) password: &'a str,
    /// The version of PostgreSQL.
    pub(crate) server: &'a str,
    /// The path of the demo's program.
    pub(crate) program: &'a Path,
    /// The configuration of the command line.
    pub(crate) profile: &'a Path,
    pub(crate) kept: Option<&'a Path>,
}

impl fmt::Display for Welcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            answers,
            metrics,
            audit,
            token,
            password,
            server,
            program,
            profile,
            kept,
        } = *self;
        let (profile, audit) = (profile.display(), audit.display());
        let url = format!("http://{address}/mcp");
        let (http, stdio) = (Server::http(&url, token), Server::stdio(program, kept));
        write!(
            f,
            r#"
The Ziggurat demo is up: a small shop in PostgreSQL {server}, and in front of it ziggurat-tools,
for MCP clients, and ziggurat-rag, which answers questions from its handbook.

  Console   http://{address}/console/ for {user} (password {password})
  Address   {url}
  Token     {token}
  User      {user}, an administrator; for programs with authenticate_user on {url}/v1
  Tables    customers, products, orders, order_items, handbook (with embeddings), passages
            (what was loaded from the folder handbook); and a view, revenue_by_month
  Vectors   made by the server itself, of words: for trials without a key (embedding.provider: local)
  Model     none: Ask has one with ZIGGURAT_LLM_ENABLED=true and ANTHROPIC_API_KEY in the environment
  Questions http://{answers}/ (a page; the answers are quotes, there is no model)
  Metrics   http://127.0.0.1:{metrics}/metrics (of ziggurat-tools, for Prometheus)
  Audit     {audit} (a line for each call)

Ask it something:

  curl -s {url} \
    -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \
    -d '{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"query_database","arguments":{{"query":"SELECT * FROM revenue_by_month ORDER BY month"}}}}}}'

Ask the handbook, for the whole answer and its sources, or as a stream; each mark [1] is cited:

  curl -s http://{answers}/v1/pipelines/handbook \
    -d '{{"query":"How do I wash wool?","include_sources":true,"citations":true}}'

  curl -sN http://{answers}/v1/pipelines/handbook \
    -d '{{"query":"How do I wash wool?","stream":true,"stream_sources":true,"citations":true}}'

Manage its account, which ziggurat-platform keeps:

  cargo run -q -p ziggurat-cli -- --config {profile} platform tenant list

Paste into an MCP client that speaks HTTP. Claude Code (.mcp.json), Cursor (~/.cursor/mcp.json):

  {http}

VS Code (.vscode/mcp.json):

  {http_in_vs_code}

Or into one that starts its servers itself, to give it a shop of its own that comes and goes with
it, and needs neither this one nor a token. Claude Desktop (claude_desktop_config.json), Cursor:

  {stdio}

VS Code:

  {stdio_in_vs_code}

Then ask: Which category earned most last spring? What should I do with my pots before winter?

"#,
            user = home::USER,
            http = http.in_mcp_servers(),
            http_in_vs_code = http.in_servers(),
            stdio = stdio.in_mcp_servers(),
            stdio_in_vs_code = stdio.in_servers(),
        )?;
        write_how_to_stop(kept, f)
    }
}

fn write_how_to_stop(kept: Option<&Path>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match kept {
        Some(folder) => writeln!(
            f,
            "Ctrl-C stops it; the data, the token and the user stay in {}.",
            folder.display()
        ),
        None => writeln!(f, "Ctrl-C stops it and leaves nothing behind."),
    }
}
