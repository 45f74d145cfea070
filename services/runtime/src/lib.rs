//! Basic parts of every program: parsing of options and files, file watching, logs and signals.
//!
//! Nothing here depends on the services of a program. Only [`ConfigSources::of_process`] reads the
//! environment; a program passes in all other input.
//!
//! ```
//! use std::time::Duration;
//! use ziggurat_runtime::duration;
//!
//! assert_eq!(duration::parse("1m30s"), Ok(Duration::from_secs(90)));
//! assert!(duration::parse("90").is_err());
//! ```

mod address;
mod causes;
#[cfg(feature = "test-support")]
pub mod committed;
pub mod config;
mod config_sources;
pub mod console;
pub mod duration;
mod environment;
pub mod escape;
pub mod file;
pub mod flags;
pub mod listen;
mod lock;
pub mod logs;
pub mod open_files;
pub mod password_file;
mod places;
pub mod private_file;
mod problem;
pub mod redact;
pub mod retry_after;
mod secret;
pub mod signals;
pub mod terminal;
pub mod watch;
pub mod yaml;

pub use self::{
    address::{Address, InvalidAddress},
    causes::causes,
    config_sources::ConfigSources,
    environment::Environment,
    lock::lock,
    places::Places,
    problem::Problem,
    secret::Secret,
};
