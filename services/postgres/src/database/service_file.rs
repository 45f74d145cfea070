//! Service files of libpq: named groups of connection parameters.
//!
//! The file is named by `PGSERVICEFILE`, else `~/.pg_service.conf`. A service that is not in the
//! latter is looked for in `pg_service.conf` in the folder that `PGSYSCONFDIR` names.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use thiserror::Error;
use ziggurat_runtime::Environment;

use crate::database::Parameters;

/// Maximum number of bytes read from a file.
const MAX_FILE: u64 = 1 << 20;

/// Parameters that are used.
const PARAMETERS: [&str; 17] = [
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "ssl_min_protocol_version",
    "connect_timeout",
    "target_session_attrs",
    "application_name",
    "options",
    "load_balance_hosts",
    "require_auth",
];

/// Parameters that may be ignored, since that weakens no connection.
const IGNORED: [&str; 12] = [
    "client_encoding",
    "fallback_application_name",
    "gsslib",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "sslcompression",
    "sslsni",
    "sslpassword",
    "tcp_user_timeout",
];

/// Reason why a service cannot be used. No value of a file is shown.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidService {
    /// There is no file.
    #[error("there is no service file")]
    NoFile,
    /// A file cannot be read.
    #[error("the service file {path} cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// No file has the service.
    #[error("{path}: the service '{service}' is not defined")]
    Unknown {
        /// The file that was read last.
        path: PathBuf,
        /// The service.
        service: String,
    },
    /// A line of the service cannot be used.
    #[error("{path}:{line}: {problem}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Its number, counted from one.
        line: usize,
        /// The problem.
        problem: String,
    },
}

/// Problem with a line.
#[derive(Debug, Error)]
enum BadLine {
    #[error("a line is not key=value")]
    NoPair,
    #[error("the key '{0}' is not known")]
    Unknown(String),
}

/// Reads the parameters of a service. Of two with the same name the first one counts, as in libpq.
///
/// # Errors
/// Fails if no file has the service, or if it has a parameter that is not known.
pub fn read(service: &str, environment: &Environment) -> Result<Parameters, InvalidService> {
    let mut last = None;
    for path in paths(environment) {
        if let Some(found) = find(&text(&path)?, service, &path)? {
            return Ok(found);
        }
        last = Some(path);
    }
    Err(
        last.map_or(InvalidService::NoFile, |path| InvalidService::Unknown {
            path,
            service: service.to_owned(),
        }),
    )
}

/// Returns the files that are there, and the one that the environment names in any case.
fn paths(environment: &Environment) -> impl Iterator<Item = PathBuf> {
    let named = environment.get("PGSERVICEFILE").map(PathBuf::from);
    let in_folder = |variable, name| Some(Path::new(environment.get(variable)?).join(name));
    let own = named.or_else(|| in_folder("HOME", ".pg_service.conf").filter(|path| path.exists()));
    let of_all = in_folder("PGSYSCONFDIR", "pg_service.conf").filter(|path| path.exists());
    own.into_iter().chain(of_all)
}

fn text(path: &Path) -> Result<String, InvalidService> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes));
    read.map_err(|source| InvalidService::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the group of a service, or returns `None` without one.
fn find(text: &str, service: &str, path: &Path) -> Result<Option<Parameters>, InvalidService> {
    let mut found: Option<Parameters> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            let is_it = name
                .split_once(']')
                .is_some_and(|(name, _)| name == service);
            found = is_it.then(Parameters::new);
        } else if let Some(values) = &mut found
            && !line.is_empty()
            && !line.starts_with('#')
        {
            let parameter = parameter(line).map_err(|problem| InvalidService::Line {
                path: path.to_owned(),
                line: at + 1,
                problem: problem.to_string(),
            })?;
            if let Some((key, value)) = parameter {
                values.entry(key).or_insert_with(|| value.into());
            }
        }
    }
    Ok(found)
}

/// Reads a line. Returns `None` for a parameter that is ignored.
fn parameter(line: &str) -> Result<Option<(&'static str, &str)>, BadLine> {
    let (key, value) = line.split_once('=').ok_or(BadLine::NoPair)?;
    let known = PARAMETERS.iter().find(|known| **known == key);
    match known {
        Some(known) => Ok(Some((known, value))),
        None if IGNORED.contains(&key) => Ok(None),
        None if matches!(key, "gssencmode" | "channel_binding") && value != "require" => Ok(None),
        None => Err(BadLine::Unknown(key.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_group_is_read_as_libpq_reads_it() {
        let text = "# a comment\n[other]\nhost=other\n[shop]\n  host=db \nport=1\nport=2\n\n#x\n\
                    keepalives=1\noptions=-c a=b\n[more]\nuser=more\n[shop]\nuser=late\n";
        let found = find(text, "shop", Path::new("f"))
            .expect("good")
            .expect("there");
        let found: Vec<_> = found
            .iter()
            .map(|(key, value)| format!("{key}={}", value.expose()))
            .collect();
        assert_eq!(found, ["host=db", "options=-c a=b", "port=1"]);
        assert!(find(text, "sho", Path::new("f")).expect("good").is_none());
    }

    #[test]
    fn a_line_that_is_not_understood_is_named() {
        for (line, expected) in [
            ("nonsense", "f:2: a line is not key=value"),
            ("hots=db", "f:2: the key 'hots' is not known"),
            ("service=other", "f:2: the key 'service' is not known"),
            ("sslcrl=file", "f:2: the key 'sslcrl' is not known"),
            (
                "gssencmode=require",
                "f:2: the key 'gssencmode' is not known",
            ),
        ] {
            let text = format!("[shop]\n{line}\n");
            let error = find(&text, "shop", Path::new("f")).expect_err(line);
            assert_eq!(error.to_string(), expected);
            // A line of another service is not read.
            assert!(find(&text, "other", Path::new("f")).is_ok(), "{line}");
        }
    }

    #[test]
    fn the_file_of_the_user_comes_before_the_file_of_the_system() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        for (name, text) in [
            (".pg_service.conf", "[a]\nhost=own\n"),
            ("pg_service.conf", "[a]\nhost=all\n[b]\nhost=all\n"),
            ("named", "[c]\nhost=named\n"),
        ] {
            fs::write(path(name), text).expect("written");
        }
        let home = ("HOME", folder.path().display().to_string());
        let system = ("PGSYSCONFDIR", home.1.clone());
        let named = ("PGSERVICEFILE", path("named"));
        let host = |variables: &[&(&str, String)], service| {
            let variables = variables.iter().map(|(name, value)| (name, value));
            let found = read(service, &Environment::new(variables));
            found
                .map(|found| found["host"].expose().to_owned())
                .map_err(|error| error.to_string())
        };
        assert_eq!(host(&[&home, &system], "a").as_deref(), Ok("own"));
        assert_eq!(host(&[&home, &system], "b").as_deref(), Ok("all"));
        assert_eq!(host(&[&home, &system, &named], "c").as_deref(), Ok("named"));
        let unknown = format!("{}: the service 'd' is not defined", path("named"));
        assert_eq!(host(&[&home, &named], "d"), Err(unknown));
        assert_eq!(host(&[], "a"), Err("there is no service file".to_owned()));
        let missing = ("PGSERVICEFILE", path("missing"));
        let unreadable = format!("the service file {} cannot be read", path("missing"));
        assert_eq!(host(&[&missing], "a"), Err(unreadable));
    }
}
