//! Completes words in a shell.
//!
//! The scripts only call this program (`__complete`), so they stay correct when commands change.

mod install;
mod offer;
mod records;
mod scripts;

pub(crate) use self::{
    install::{install, uninstall},
    offer::words,
    scripts::script,
};
