//! The program against the service that comes with it: every command, on a real account.

mod account;
mod people;
mod support;
