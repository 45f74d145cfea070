//! The account that the server runs under.

use std::{fs, io, os::unix::fs::chown, os::unix::process::CommandExt as _, path::Path};
use std::{process::Command, str::FromStr};

/// An account without privileges. PostgreSQL refuses to run as root, so root runs it as this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

// === impl Account ===

impl Account {
    /// Returns the account that root uses for the server; `None` for other users, who run it
    /// themselves.
    pub(crate) fn for_root() -> io::Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        Self::unprivileged(&fs::read_to_string("/etc/passwd")?)
            .map(Some)
            .ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotFound,
                    "PostgreSQL refuses to run as root, and /etc/passwd has no account \
                     `postgres` or `nobody` to run it under",
                )
            })
    }

    /// Returns the first account that exists: one made for PostgreSQL, or `nobody`.
    fn unprivileged(passwd: &str) -> Option<Self> {
        ["postgres", "_postgres", "nobody"]
            .into_iter()
            .find_map(|name| passwd.lines().find_map(|line| Self::parse(line, name)))
    }

    fn parse(line: &str, expected: &str) -> Option<Self> {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| *name == expected)?;
        let _password = fields.next()?;
        let uid = id(fields.next()?)?;
        let gid = id(fields.next()?)?;
        (uid != 0).then(|| Self {
            name: name.to_owned(),
            uid,
            gid,
        })
    }

    /// Makes the account the owner of `path`.
    pub(crate) fn own(&self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }

    /// Makes `command` run under the account, in none of root's groups.
    pub(crate) fn demote(&self, command: &mut Command) {
        // The standard library drops root's supplementary groups together with the uid.
        command.uid(self.uid).gid(self.gid);
    }
}

/// Reads a user or group id; macOS writes the id of `nobody` as -2.
fn id(text: &str) -> Option<u32> {
    u32::from_str(text)
        .ok()
        .or_else(|| i32::from_str(text).ok().map(i32::cast_unsigned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_prefers_the_account_for_postgresql_to_the_unprivileged_one() {
        let root = "root:x:0:0:root:/root:/bin/sh\n";
        let nobody = "nobody:x:65534:65534::/:/usr/sbin/nologin\n";
        let postgres = "postgres:x:101:104::/var/lib/postgresql:/bin/bash\n";
        let cases = [
            (
                format!("{root}{nobody}{postgres}"),
                Some(("postgres", 101, 104)),
            ),
            (format!("{root}{nobody}"), Some(("nobody", 65534, 65534))),
            (
                "nobody:*:-2:-2:Unprivileged:/var/empty:/usr/bin/false".to_owned(),
                Some(("nobody", 4_294_967_294, 4_294_967_294)),
            ),
            (
                "_postgres:*:216:216::/:/usr/bin/false\nnobody:*:-2:-2:::".to_owned(),
                Some(("_postgres", 216, 216)),
            ),
            ("postgres:x:0:0::/:/bin/sh".to_owned(), None),
            ("postgres2:x:7:7::/:/bin/sh".to_owned(), None),
            ("postgres:x".to_owned(), None),
            (root.to_owned(), None),
            (String::new(), None),
        ];
        for (passwd, expected) in cases {
            let found = Account::unprivileged(&passwd);
            let found = found
                .as_ref()
                .map(|account| (account.name.as_str(), account.uid, account.gid));
            assert_eq!(found, expected, "{passwd:?}");
        }
    }
}
