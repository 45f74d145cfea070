//! Checks that libpq may use its password file.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::{fs, os::unix::fs::PermissionsExt as _};
//! use ziggurat_runtime::{Environment, password_file};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("pgpass");
//! fs::write(&path, "*:*:*:*:swordfish")?;
//! let environment = Environment::new([("PGPASSFILE", &path)]);
//! fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
//! let warning = password_file::warning(&environment).expect("open to others");
//! assert!(warning.ends_with("permissions should be u=rw (0600) or less, so it is ignored"));
//! fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
//! assert_eq!(password_file::warning(&environment), None);
//! # Ok(())
//! # }
//! ```

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use crate::Environment;

/// Returns a warning in the words of psql if the permissions of the password file prevent its use;
/// returns `None` if the file may be used or does not exist.
#[must_use]
pub fn warning(environment: &Environment) -> Option<String> {
    let named = environment.get("PGPASSFILE").map(PathBuf::from);
    let path = named.or_else(|| Some(PathBuf::from(environment.get("HOME")?).join(".pgpass")))?;
    let about = fs::metadata(&path).ok()?;
    let path = path.display();
    if !about.is_file() {
        return Some(format!(
            "password file \"{path}\" is not a plain file, so it is ignored"
        ));
    }
    (about.permissions().mode() & 0o077 != 0).then(|| {
        format!(
            "password file \"{path}\" has group or world access; permissions should be u=rw (0600) \
             or less, so it is ignored"
        )
    })
}
