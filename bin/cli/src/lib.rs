//! `ziggurat`, the command line of a Ziggurat account, as a library: all commands run in one
//! process, with the streams and the environment of the caller.
//!
//! ```
//! use ziggurat_cli::{Environment, Streams};
//!
//! let environment = Environment::new([("HOME".to_owned(), "/nowhere".to_owned())]);
//! let mut streams = Streams {
//!     stdin: Box::new(std::io::empty()),
//!     stdout: Box::new(std::io::sink()),
//!     stderr: Box::new(std::io::sink()),
//! };
//! assert_eq!(ziggurat_cli::run(["nonsense".into()], &environment, &mut streams), 2);
//! ```

mod api;
mod commands;
mod config;
mod context;
mod credentials;
mod dry_run;
mod duration;
mod environment;
mod failure;
mod id;
mod keychain;
mod output;
mod run;
mod setup;
mod terminal;
mod tree;

use std::ffi::OsString;

pub use crate::{
    context::Streams,
    environment::{Environment, Terminals},
    terminal::interrupt::watched,
};
use crate::{failure::Failure, output::Format};

/// Runs a command line, without the name of the program, and returns the exit code of the process.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &Environment,
    streams: &mut Streams,
) -> u8 {
    let mut words = Vec::new();
    for argument in arguments {
        match argument.into_string() {
            Ok(word) => words.push(word),
            Err(argument) => {
                let shown = argument.to_string_lossy();
                let failure = Failure::usage(format!("argument {shown:?} is not UTF-8"));
                streams.ask(failure.render(Format::Text, true));
                return failure.exit();
            }
        }
    }
    run::run(&words, environment, streams)
}
