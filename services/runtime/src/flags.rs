//! Flags with one dash or two, with or without a value after `=`.
//!
//! ```
//! use std::ffi::OsStr;
//! use ziggurat_runtime::flags;
//!
//! let flag = flags::without_dashes(OsStr::new("-addr=127.0.0.1:80"));
//! assert_eq!(flags::split(flag.unwrap()), (&b"addr"[..], Some(&b"127.0.0.1:80"[..])));
//! assert_eq!(flags::without_dashes(OsStr::new("addr")), None);
//! ```

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

/// Strips one or two dashes from a flag; returns an empty name for `--`, which ends the flags, and
/// `None` for other words.
#[must_use]
pub fn without_dashes(word: &OsStr) -> Option<&[u8]> {
    let word = word.as_bytes();
    let flag = word.strip_prefix(b"-").filter(|flag| !flag.is_empty())?;
    Some(flag.strip_prefix(b"-").unwrap_or(flag))
}

/// Splits a flag into its name and the value after `=`.
#[must_use]
pub fn split(flag: &[u8]) -> (&[u8], Option<&[u8]>) {
    match flag.iter().position(|&byte| byte == b'=') {
        Some(at) => (&flag[..at], Some(&flag[at + 1..])),
        None => (flag, None),
    }
}
