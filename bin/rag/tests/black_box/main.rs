//! The program as its users meet it, by the sections of the specification.

mod answers;
mod checking;
mod command_line;
mod cors;
mod guards;
mod logs;
mod reload;
mod serving;
mod support;
