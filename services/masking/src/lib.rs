//! Masks of values, and the check of plans that use masked columns.
//!
//! A [`Mask`] hides a value. [`plan::check`] reads the plan of a query and refuses it unless each
//! masked column only passes through to the result, where its values are masked.
//!
//! ```
//! use ziggurat_masking::{Mask, Shape};
//!
//! let mask = Mask::new(Shape::Email, "***");
//! assert_eq!(mask.apply(b"alice@example.com").as_deref(), Some(&b"a***@example.com"[..]));
//! assert_eq!(mask.apply(b"no address").as_deref(), Some(&b"***"[..]));
//! ```

mod key;
mod mask;
mod patterns;
pub mod plan;

pub use self::{
    key::{InvalidKey, Key},
    mask::{Mask, Shape},
    patterns::Pattern,
};
