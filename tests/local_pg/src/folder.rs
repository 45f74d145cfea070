//! The folders of the servers, and their permissions.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

use crate::{account::Account, error::Error};

/// Cache folder for root: the server's account cannot enter root's home, and only root can write to
/// this one.
const CACHE_OF_ROOT: &str = "/var/cache/ziggurat";

/// Makes a folder that only the caller can write to, and returns its canonical path.
///
/// The server's account can enter it. An existing folder is used only if it belongs to the caller
/// and others cannot write to it, so that other users cannot prepare one.
pub(crate) fn own(path: &Path, account: Option<&Account>) -> Result<PathBuf, Error> {
    let unusable = || Error::folder(path, "cannot be made");
    // 0711 would be enough to enter, but the server also reads the unpacked files.
    let mode = if account.is_some() { 0o755 } else { 0o700 };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(unusable())?;
    }
    match DirBuilder::new().create(path) {
        // The mode is set separately, because the umask may remove the permissions of the account.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(mode)).map_err(unusable())?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(unusable()(error)),
    }
    let named = fs::symlink_metadata(path).map_err(unusable())?;
    let path = path.canonicalize().map_err(unusable())?;
    let meant = fs::metadata(&path).map_err(Error::folder(&path, "cannot be looked at"))?;
    let caller = rustix::process::geteuid().as_raw();
    if named.uid() != caller || meant.uid() != caller {
        return Err(refused(path, "belongs to another user; choose another"));
    }
    if meant.mode() & 0o022 != 0 {
        return Err(refused(
            path,
            "others may write to it; close it (chmod go-w) or choose another",
        ));
    }
    if let Some(account) = account {
        reachable(&path, account)?;
    }
    Ok(path)
}

/// Makes an empty or missing folder that only the server's account can use.
pub(crate) fn lend(path: &Path, account: Option<&Account>) -> Result<(), Error> {
    let made = match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    };
    made.and_then(|()| account.map_or(Ok(()), |account| account.own(path)))
        .map_err(Error::folder(path, "cannot be given to the server"))
}

/// Opens or creates a file that others can neither read nor lock.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
}

/// Returns the cache folder: the requested one, else root's, else one in the caller's home.
pub(crate) fn cache(
    requested: Option<OsString>,
    xdg: Option<OsString>,
    home: Option<OsString>,
    is_root: bool,
) -> Option<PathBuf> {
    let filled = |value: Option<OsString>| value.filter(|v| !v.is_empty()).map(PathBuf::from);
    filled(requested)
        .or_else(|| is_root.then(|| CACHE_OF_ROOT.into()))
        // The XDG base directory specification requires that a relative path is ignored.
        .or_else(|| {
            filled(xdg)
                .filter(|path| path.is_absolute())
                .map(|path| path.join("ziggurat"))
        })
        .or_else(|| filled(home).map(|path| path.join(".cache/ziggurat")))
}

/// Checks that the account can enter every folder above `path`.
fn reachable(path: &Path, account: &Account) -> Result<(), Error> {
    for folder in path.ancestors() {
        let meta = fs::metadata(folder).map_err(Error::folder(folder, "cannot be looked at"))?;
        let enter = match () {
            () if meta.uid() == account.uid => 0o100,
            () if meta.gid() == account.gid => 0o010,
            () => 0o001,
        };
        if meta.mode() & enter == 0 {
            let reason = format!(
                "root cannot run PostgreSQL, and its account `{}` may not enter {}; choose a \
                 folder outside (the cache: ZIGGURAT_CACHE_DIR)",
                account.name,
                folder.display(),
            );
            return Err(refused(path.to_owned(), reason));
        }
    }
    Ok(())
}

fn refused(path: PathBuf, reason: impl Into<String>) -> Error {
    Error::Folder {
        path,
        reason: reason.into(),
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_cache_is_the_requested_one_else_roots_else_in_the_callers_home() {
        let cases = [
            ((Some("/c"), Some("/x"), Some("/h"), true), Some("/c")),
            ((None, Some("/x"), Some("/root"), true), Some(CACHE_OF_ROOT)),
            ((None, Some("/x"), Some("/h"), false), Some("/x/ziggurat")),
            (
                (None, Some("x"), Some("/h"), false),
                Some("/h/.cache/ziggurat"),
            ),
            (
                (Some(""), None, Some("/h"), false),
                Some("/h/.cache/ziggurat"),
            ),
            (
                (None, Some(""), Some("/h"), false),
                Some("/h/.cache/ziggurat"),
            ),
            ((None, None, None, false), None),
        ];
        for ((requested, xdg, home, is_root), expected) in cases {
            let [requested, xdg, home] =
                [requested, xdg, home].map(|value| value.map(OsString::from));
            let case = format!("{requested:?} {xdg:?} {home:?} root: {is_root}");
            let found = cache(requested, xdg, home, is_root);
            assert_eq!(found.as_deref(), expected.map(Path::new), "{case}");
        }
    }

    #[test]
    fn a_new_folder_is_private_and_an_existing_writable_one_is_refused() {
        let outer = tempfile::tempdir().expect("a folder");
        let path = outer.path().join("deep/new");
        let mode = |path: &Path| fs::metadata(path).expect("exists").mode() & 0o777;
        assert_eq!(mode(&own(&path, None).expect("usable")), 0o700);

        fs::set_permissions(&path, Permissions::from_mode(0o777)).expect("the caller's own");
        let error = own(&path, None).expect_err("open to all");
        assert!(error.to_string().contains("others may write"), "{error}");
        assert_eq!(mode(&path), 0o777);
    }

    #[test]
    fn a_folder_of_another_user_is_refused_even_behind_an_own_link() {
        if rustix::process::geteuid().is_root() {
            let outer = tempfile::tempdir().expect("a folder");
            let theirs = outer.path().join("theirs");
            fs::create_dir(&theirs).expect("a folder");
            std::os::unix::fs::chown(&theirs, Some(65534), None).expect("root may");
            let link = outer.path().join("link");
            symlink(&theirs, &link).expect("a link");
            for path in [theirs, link] {
                let error = own(&path, None).expect_err("another user's");
                assert!(error.to_string().contains("another user"), "{error}");
            }
        } else {
            let error = own(Path::new("/usr"), None).expect_err("root's");
            assert!(error.to_string().contains("another user"), "{error}");
        }
    }

    #[test]
    fn a_folder_inside_a_closed_one_is_refused_with_the_name_of_the_closed_one() {
        let outer = tempfile::tempdir().expect("a folder");
        fs::set_permissions(outer.path(), Permissions::from_mode(0o700)).expect("our own");
        let account = Account {
            name: "other".to_owned(),
            uid: 4_000_000,
            gid: 4_000_000,
        };
        let error = own(&outer.path().join("inner"), Some(&account)).expect_err("closed");
        let closed = outer.path().canonicalize().expect("exists");
        let message = error.to_string();
        assert!(message.contains("`other`"), "{message}");
        assert!(
            message.contains(&format!("enter {}", closed.display())),
            "{message}"
        );
    }
}
