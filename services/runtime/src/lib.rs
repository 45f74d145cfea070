//! What every program of the house needs around its services: words that are read, files that
//! are watched, lines that are written, and signals.
//!
//! Nothing here knows what a program serves. Nothing looks at the environment, standard input or
//! the command line by itself, but for [`ConfigSources::of_process`]: a program hands in what it
//! has.
//!
//! ```
//! use std::time::Duration;
//! use ziggurat_runtime::duration;
//!
//! assert_eq!(duration::parse("1m30s"), Ok(Duration::from_secs(90)));
//! assert!(duration::parse("90").is_err());
//! ```

mod config_sources;
pub mod cut_off;
pub mod duration;
mod environment;
pub mod file;
#[cfg(unix)]
pub mod flags;
pub mod keys;
pub mod line;
pub mod listen;
pub mod logs;
#[cfg(unix)]
pub mod open_files;
#[cfg(unix)]
pub mod password_file;
pub mod private_file;
pub mod redact;
pub mod retry_after;
pub mod scan;
mod secret;
#[cfg(unix)]
pub mod signals;
pub mod watch;

pub use self::{config_sources::ConfigSources, environment::Environment, secret::Secret};
