//! Files of the repository that are written from the code.

use std::{env, fs, path::Path};

/// Fails unless a committed file holds this text; writes the file if `ZIGGURAT_BLESS` is set.
///
/// # Panics
///
/// If the file differs or cannot be written.
pub fn assert_current(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    if env::var_os("ZIGGURAT_BLESS").is_some() {
        fs::write(path, text).expect("the folder of the file can be written");
    }
    assert!(
        fs::read_to_string(path).unwrap_or_default() == text,
        "run this test with ZIGGURAT_BLESS=1 and commit {}",
        path.display()
    );
}
