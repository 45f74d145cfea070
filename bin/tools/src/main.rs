//! `ziggurat-tools`: an MCP server for PostgreSQL.

fn main() {}
