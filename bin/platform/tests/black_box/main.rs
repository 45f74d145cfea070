//! Black-box tests of the program.

mod commands;
mod doctor;
mod first;
mod guards;
mod serving;
mod sign_in;
mod stores;
mod support;
mod telemetry;
mod trust;
