//! Files: reading, replacing and watching them, and their problems.

#[cfg(feature = "test-support")]
pub mod committed;
pub mod file;
pub mod password_file;
pub mod private_file;
pub(crate) mod problem;
pub mod watch;
