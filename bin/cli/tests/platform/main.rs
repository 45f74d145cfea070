//! Tests of every command against the real account service.

mod account;
mod people;
mod person;
mod support;
