//! The program as its users meet it, by the sections of the specification.

mod cancelling;
mod custom;
mod databases;
mod first_minutes;
mod framing;
mod http_rules;
mod methods;
mod prompts;
mod resources;
mod stdio_rules;
mod tools_count;
mod tools_explain;
mod tools_query;
mod tools_schema;
mod values;

mod support;
