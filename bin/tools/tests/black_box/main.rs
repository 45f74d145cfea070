//! The program as its users meet it, by the sections of the specification.

mod custom;
mod first_minutes;
mod framing;
mod methods;
mod prompts;
mod resources;
mod tools_count;
mod tools_explain;
mod tools_query;
mod tools_schema;
mod values;

mod support;
