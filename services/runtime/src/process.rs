//! The process: its environment, its folders, its limit on open files, and its signals.

pub(crate) mod config_sources;
pub(crate) mod environment;
pub mod open_files;
pub mod signals;
