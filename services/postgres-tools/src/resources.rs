//! The resources, one file each.

mod system_info;
mod tables;

pub use self::{system_info::SystemInfo, tables::TableInfo};
