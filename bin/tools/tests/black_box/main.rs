//! The program as its users meet it, by the sections of the specification.

mod admin;
mod bearer;
mod cancelling;
mod configuration;
mod custom;
mod databases;
mod faults;
mod first_minutes;
mod framing;
mod http_rules;
mod logins;
mod methods;
mod prompts;
mod reload;
mod resources;
mod secrets;
mod shutdown;
mod start;
mod stdio_rules;
mod support;
mod tokens;
mod tools_count;
mod tools_explain;
mod tools_query;
mod tools_schema;
mod values;
