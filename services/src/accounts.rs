//! Who may come in, and as whom.

mod identity;

pub use self::identity::{Holder, Identity};
