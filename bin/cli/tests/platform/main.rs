//! The program against the service that comes with it: every command, on a real account.

#![expect(missing_docs, reason = "a test has no readers but those of its file")]

mod account;
mod people;
mod support;
