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

mod causes;
pub mod config;
pub mod console;
pub mod duration;
pub mod escape;
mod files;
pub mod flags;
pub mod json;
pub mod listen;
mod lock;
pub mod logs;
mod process;
pub mod redact;
pub mod retry_after;
mod secret;
mod spelling;
pub mod terminal;
pub mod yaml;

#[cfg(feature = "test-support")]
pub use self::files::committed;
pub use self::{
    causes::causes,
    config::places::Places,
    files::{file, password_file, private_file, problem::Problem, watch},
    listen::address::{Address, InvalidAddress},
    lock::lock,
    process::{config_sources::ConfigSources, environment::Environment, open_files, signals},
    secret::Secret,
};
