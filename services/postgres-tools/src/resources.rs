//! The resources, one file each.

mod system_info;

pub use self::system_info::SystemInfo;
