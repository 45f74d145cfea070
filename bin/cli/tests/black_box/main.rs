//! Tests of the program against a server that records its requests.

mod api;
mod auth;
mod connection;
mod dry_run;
mod faults;
mod logs;
mod outcomes;
mod server;
mod support;
mod terminal;
mod together;
mod tokens;
