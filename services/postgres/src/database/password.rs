//! Source of the password of a role.

use std::{
    env,
    ffi::OsString,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret as _, SecretString};
use tracing::warn;

use crate::database::{Host, PasswordCommand};

/// Maximum number of bytes read from a password file.
const MAX_FILE: u64 = 1 << 20;

/// Source of the password of a role.
///
/// An empty text converts into [`PasswordFile`](Self::PasswordFile), any other text into
/// [`Given`](Self::Given).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Password {
    /// The password itself. An empty text means no password, even if a file or the environment has
    /// one.
    Given(SecretString),
    /// From the file named by `PGPASSFILE`, else `~/.pgpass`.
    #[default]
    PasswordFile,
    /// From `PGPASSWORD`, else from the file.
    Environment,
    /// From a program, for each host.
    Command(PasswordCommand),
}

/// Login that a password is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account<'a> {
    pub(super) host: &'a Host,
    pub(super) user: &'a str,
    pub(super) database: &'a str,
}

// === impl Password ===

impl Password {
    /// Looks up the password. Returns an empty text if it finds no password.
    pub(super) fn resolve(&self, account: Account<'_>) -> SecretString {
        match self {
            Self::Given(password) => password.clone(),
            Self::Command(_) => SecretString::default(),
            Self::PasswordFile => from_file(account, env::var_os),
            Self::Environment => match env::var("PGPASSWORD") {
                Ok(password) if !password.is_empty() => password.into(),
                _ => from_file(account, env::var_os),
            },
        }
    }

    /// Returns whether the other one is the same source.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Given(one), Self::Given(two)) => one.expose_secret() == two.expose_secret(),
            (Self::PasswordFile, Self::PasswordFile) | (Self::Environment, Self::Environment) => {
                true
            }
            (Self::Command(one), Self::Command(two)) => one == two,
            _ => false,
        }
    }
}

impl From<SecretString> for Password {
    fn from(password: SecretString) -> Self {
        if password.expose_secret().is_empty() {
            Self::PasswordFile
        } else {
            Self::Given(password)
        }
    }
}

impl From<String> for Password {
    fn from(password: String) -> Self {
        SecretString::from(password).into()
    }
}

/// Reads the file with the password of one role. Blanks at its end are not part of it.
pub(super) fn of_role(path: &Path) -> io::Result<Password> {
    let text = read(path)?;
    Ok(Password::Given(text.trim_end().to_owned().into()))
}

fn from_file(
    account: Account<'_>,
    variable: impl Fn(&'static str) -> Option<OsString>,
) -> SecretString {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let path = set("PGPASSFILE").map(PathBuf::from).or_else(|| {
        let home = set("HOME").map(PathBuf::from).or_else(env::home_dir)?;
        Some(home.join(".pgpass"))
    });
    let Some(path) = path else {
        return SecretString::default();
    };
    match read(&path) {
        Ok(text) => find(&text, account).unwrap_or_default().into(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => SecretString::default(),
        Err(error) => {
            warn!(
                error = &error as &dyn std::error::Error,
                path = %path.display(),
                "the password file is ignored"
            );
            SecretString::default()
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("not a file"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0 {
        // As in libpq, a file that other accounts can read is not used.
        return Err(io::Error::other("accessible to other users"));
    }
    let mut text = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the password of the first line that matches: `host:port:database:user:password`.
fn find(text: &str, account: Account<'_>) -> Option<String> {
    let port = account.host.port.to_string();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let (host, rest) = field(line)?;
            let (its_port, rest) = field(rest)?;
            let (database, rest) = field(rest)?;
            let (user, rest) = field(rest)?;
            let is_host = host.fits(&account.host.name)
                // libpq's name for a server on a socket.
                || (account.host.is_socket() && host.fits("localhost"));
            let fits = is_host
                && its_port.fits(&port)
                && database.fits(account.database)
                && user.fits(account.user);
            fits.then(|| unescaped(rest))
        })
}

/// Field of a line, with `\` and `:` still escaped.
struct LineField<'a>(&'a str);

impl LineField<'_> {
    fn fits(&self, value: &str) -> bool {
        self.0 == "*" || unescaped(self.0) == value
    }
}

/// Splits a line behind its first field.
fn field(line: &str) -> Option<(LineField<'_>, &str)> {
    let mut is_escaped = false;
    let end = line.find(|c| {
        let ends = c == ':' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    })?;
    Some((LineField(&line[..end]), &line[end + 1..]))
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' {
            chars.next().unwrap_or(c)
        } else {
            c
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn account(host: &Host) -> Account<'_> {
        Account {
            host,
            user: "reader",
            database: "shop",
        }
    }

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let cases = [
            ("db:5432:shop:reader:one\n*:*:*:*:two", "db", Some("one")),
            ("db:5432:shop:reader:one\n*:*:*:*:two", "other", Some("two")),
            ("db:5433:shop:reader:one", "db", None),
            ("db:5432:other:reader:one", "db", None),
            ("db:5432:shop:writer:one", "db", None),
            ("#*:*:*:*:one", "db", None),
            ("*:*:*:*:a\\:b\\\\c", "db", Some("a:b\\c")),
            ("*:*:*:*:a:b", "db", Some("a:b")),
            ("*:*:*:*:pass word \r\n", "db", Some("pass word ")),
            ("\\:\\:1:*:*:*:six", "::1", Some("six")),
            ("localhost:*:*:*:near", "/run/postgresql", Some("near")),
            (
                "/run/postgresql:*:*:*:near",
                "/run/postgresql",
                Some("near"),
            ),
            ("localhost:*:*:*:near", "db", None),
            ("*:*:*", "db", None),
            ("", "db", None),
        ];
        for (text, host, expected) in cases {
            let host = Host::new(host, 5432);
            assert_eq!(find(text, account(&host)).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_password_file_others_may_read_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(".pgpass");
        fs::write(&path, "*:*:*:*:swordfish").expect("a file");
        let host = Host::new("db", 5432);
        for (mode, named, expected) in [
            (0o600, true, "swordfish"),
            (0o600, false, "swordfish"),
            (0o640, true, ""),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
            let variable = |name| match (name, named) {
                ("PGPASSFILE", true) => Some(path.clone().into_os_string()),
                ("HOME", _) => Some(folder.path().into()),
                _ => None,
            };
            let found = from_file(account(&host), variable);
            assert_eq!(found.expose_secret(), expected, "{mode:o} {named}");
        }
    }
}
