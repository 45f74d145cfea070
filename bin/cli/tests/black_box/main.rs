//! The program against a server that writes down what it is asked, by the sections of the
//! specification.

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
