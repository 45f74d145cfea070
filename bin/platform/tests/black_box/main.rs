//! The program as its users meet it, by the sections of the specification.

mod commands;
mod first;
mod guards;
mod serving;
mod stores;
mod support;
mod trust;
