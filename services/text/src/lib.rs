//! Text that is escaped for a JSON string while it is written.
//!
//! Rows of a database become one long JSON string. [`Text`] escapes them as they are written, so
//! they are copied once. [`Line`] is what rows are written to, in JSON or in another format, and
//! [`Plain`] is a field that no format has to escape.
//!
//! ```
//! use ziggurat_text::{Line, Plain, Text};
//!
//! let mut text = Text::new();
//! Line::push_str(&mut text, "C:\\Ada");
//! text.push_tab();
//! text.push_plain(Plain::new(b"42").ok_or("this needs an escape")?);
//! assert_eq!(text.as_escaped(), r"C:\\Ada\t42");
//! # Ok::<_, &str>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod events;
pub mod hidden;
mod line;
pub mod percent;
pub mod scan;
mod text;

pub use self::{
    line::{Line, Plain},
    text::{Mark, Text},
};
