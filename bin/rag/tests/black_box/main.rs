//! Tests of the program from the outside, in the order of the specification.

mod answers;
mod audit;
mod auth;
mod checking;
mod command_line;
mod console;
mod cors;
mod eval;
mod guards;
mod ingest;
mod limits;
mod logs;
mod reload;
mod serving;
mod static_models;
mod support;
mod sync;
mod telemetry;
mod traces;
