//! Checks of an installation, with advice about each finding.
//!
//! A program collects [`Finding`]s in a [`Report`]: about itself, its [`database`]s and the
//! address that it [listens](listening) on. No check changes anything.
//!
//! ```
//! use ziggurat_doctor::{Finding, Report};
//!
//! let mut report = Report::default();
//! report.extend([
//!     Finding::ok("config.read", "read /etc/ziggurat/ziggurat-tools.yaml"),
//!     Finding::warn("db.reads", "the role sees no table", "GRANT SELECT ON things TO reader;")
//!         .of("shop"),
//! ]);
//! assert_eq!(
//!     report.text(),
//!     "ok  config.read  read /etc/ziggurat/ziggurat-tools.yaml\n\
//!      warn  db.reads  database 'shop': the role sees no table\n  \
//!        fix: GRANT SELECT ON things TO reader;\n"
//! );
//! assert!(report.is_good(false) && !report.is_good(true));
//! ```

mod clock;
pub mod configuration;
pub mod database;
pub mod files;
pub mod flags;
pub mod health;
pub mod listening;
mod report;
pub mod sign_in;
pub mod tokens;

pub use self::report::{Finding, Options, Report, Status};
