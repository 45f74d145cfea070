//! Checks of files with secrets.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use crate::Finding;

/// Id of the check.
const ID: &str = "config.modes";

/// Checks that not every account of this machine can read files with secrets. Their group may: it
/// is the group of the service, where root owns its configuration.
#[must_use]
pub fn modes<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Vec<Finding> {
    let mut count = 0;
    let mut findings = Vec::new();
    for file in files {
        let file = file.as_ref();
        let Ok(about) = fs::metadata(file) else {
            continue;
        };
        count += 1;
        if about.mode() & 0o004 != 0 {
            let path = file.display();
            let finding = format!("other accounts of this machine can read {path}");
            findings.push(Finding::fail(ID, finding, format!("chmod o-rwx '{path}'")));
        }
    }
    if findings.is_empty() {
        let finding = format!("{count} files with secrets, closed to other accounts");
        findings.push(Finding::ok(ID, finding));
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;
    use crate::Status;

    #[test]
    fn a_file_that_others_can_read_is_named_until_its_mode_is_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key.pem");
        fs::write(&path, "secret").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        let found = modes([&*path, Path::new("/nowhere")]);
        assert_eq!(found[0].status, Status::Fail);
        assert!(
            found[0]
                .fix
                .as_ref()
                .is_some_and(|fix| fix.contains("chmod o-rwx"))
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        assert_eq!(modes([&*path])[0].status, Status::Ok);
    }
}
