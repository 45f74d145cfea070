//! Flags with one dash or two, and a value behind them or not.
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

/// The flag without its one or two dashes, empty for the word `--`, which ends the flags; nothing
/// if the word is no flag.
#[must_use]
pub fn without_dashes(word: &OsStr) -> Option<&[u8]> {
    let word = word.as_bytes();
    let flag = word.strip_prefix(b"-").filter(|flag| !flag.is_empty())?;
    Some(flag.strip_prefix(b"-").unwrap_or(flag))
}

/// The name of a flag, and the value that was written behind it.
#[must_use]
pub fn split(flag: &[u8]) -> (&[u8], Option<&[u8]>) {
    match flag.iter().position(|&byte| byte == b'=') {
        Some(at) => (&flag[..at], Some(&flag[at + 1..])),
        None => (flag, None),
    }
}
