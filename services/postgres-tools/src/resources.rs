//! The resources, one file each.

mod glossary;
mod system_info;
mod tables;

pub use self::{glossary::GlossaryInfo, system_info::SystemInfo, tables::TableInfo};
