//! What the demo says when it is up.

use std::{fmt, net::SocketAddr, path::Path};

/// What there is to connect to, and how.
pub(crate) struct Welcome<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) token: &'a str,
    pub(crate) server: &'a str,
    pub(crate) kept: Option<&'a Path>,
}

impl fmt::Display for Welcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            token,
            server,
            kept,
        } = self;
        write!(
            f,
            r#"
The Ziggurat demo is up.

  Address   http://{address}/mcp/v1
  Token     {token}
  Database  a small shop in PostgreSQL {server}:
            customers, products, orders, order_items, revenue_by_month

Ask it something:

  curl -s http://{address}/mcp/v1 \
    -H 'Authorization: Bearer {token}' \
    -d '{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"query_database","arguments":{{"query":"SELECT * FROM revenue_by_month ORDER BY month"}}}}}}'

Paste into an MCP client that speaks HTTP (Claude Code, Cursor, VS Code, the Inspector):

  {{"mcpServers":{{"ziggurat-demo":{{"type":"http","url":"http://{address}/mcp/v1","headers":{{"Authorization":"Bearer {token}"}}}}}}}}

"#
        )?;
        match kept {
            Some(folder) => writeln!(f, "Ctrl-C stops it; the data stay in {}.", folder.display()),
            None => writeln!(f, "Ctrl-C stops it and leaves nothing behind."),
        }
    }
}
