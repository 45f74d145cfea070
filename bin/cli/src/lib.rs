//! `ziggurat`, the command line of a Ziggurat account, as a library: the whole tree of commands
//! runs in one process, with streams and an environment of the caller's.
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

mod config;
mod context;
mod credentials;
mod dry_run;
mod failure;
mod http;
mod keychain;
mod output;
mod token;

use std::ffi::OsString;

pub use crate::context::{Environment, Streams, Terminals};

/// Runs a command line, without the name of the program, and says what the process exits with.
pub fn run(
    _arguments: impl IntoIterator<Item = OsString>,
    _environment: &Environment,
    streams: &mut Streams,
) -> u8 {
    let failure = failure::Failure::usage("nothing is here yet");
    streams.ask(failure.render(output::Format::Text, false));
    failure.exit()
}
