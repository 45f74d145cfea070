//! The address of a server.

use std::{
    fmt::{self, Write as _},
    path::{Path, PathBuf},
    str::FromStr as _,
};

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::server::USER;

/// The address of a server, and the role to connect as.
#[derive(Clone)]
pub(crate) enum Address {
    /// A server started here: password on loopback, none on the socket.
    Own {
        socket_dir: PathBuf,
        port: u16,
        password: String,
    },
    /// A server given by its URL.
    Given { url: String },
}

// === impl Address ===

impl Address {
    /// The URL of a database.
    pub(crate) fn url(&self, database: &str) -> String {
        match self {
            // The server has no TLS, and asking for it would cost a round trip per connection.
            Self::Own { port, password, .. } => format!(
                "postgres://{USER}:{password}@127.0.0.1:{port}/{}?sslmode=disable",
                encode(database)
            ),
            Self::Given { url } => with_database(url, database),
        }
    }

    /// The URL of a database through the socket.
    pub(crate) fn socket_url(&self, database: &str) -> Option<String> {
        match self {
            Self::Own {
                socket_dir, port, ..
            } => Some(format!(
                "postgres://{USER}@{}:{port}/{}?sslmode=disable",
                encode(&socket_dir.to_string_lossy()),
                encode(database)
            )),
            Self::Given { .. } => None,
        }
    }

    /// The fastest connection to a database: the socket, if there is one.
    pub(crate) fn options(&self, database: Option<&str>) -> sqlx::Result<PgConnectOptions> {
        match (self, database) {
            (Self::Given { url }, None) => PgConnectOptions::from_str(url),
            (Self::Given { url }, Some(database)) => {
                Ok(PgConnectOptions::from_str(url)?.database(database))
            }
            (
                Self::Own {
                    socket_dir, port, ..
                },
                database,
            ) => Ok(PgConnectOptions::new_without_pgpass()
                .socket(socket_dir)
                .port(*port)
                .ssl_mode(PgSslMode::Disable)
                .username(USER)
                .database(database.unwrap_or("postgres"))),
        }
    }

    /// The folder of the socket.
    pub(crate) fn socket_dir(&self) -> Option<&Path> {
        match self {
            Self::Own { socket_dir, .. } => Some(socket_dir),
            Self::Given { .. } => None,
        }
    }
}

impl fmt::Debug for Address {
    /// Omits the password and the URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own {
                socket_dir, port, ..
            } => f
                .debug_struct("Own")
                .field("socket_dir", socket_dir)
                .field("port", port)
                .finish_non_exhaustive(),
            Self::Given { .. } => f.debug_struct("Given").finish_non_exhaustive(),
        }
    }
}

/// Sets the database of a URL in its path, and removes it from its query.
fn with_database(url: &str, database: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let (before, query) = match url.split_once('?') {
        Some((before, query)) => (before, query),
        None => (url, ""),
    };
    let start = before.find("://").map_or(0, |scheme| scheme + "://".len());
    let authority = match before[start..].find('/') {
        Some(path) => &before[..start + path],
        None => before,
    };
    let mut out = format!("{authority}/{}", encode(database));
    let parameters = query
        .split('&')
        .filter(|parameter| !parameter.is_empty() && !parameter.starts_with("dbname="));
    for (index, parameter) in parameters.enumerate() {
        out.push(if index == 0 { '?' } else { '&' });
        out.push_str(parameter);
    }
    out
}

/// Percent-encodes everything but the unreserved characters (RFC 3986, section 2.3).
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            write!(out, "%{byte:02X}").expect("a string takes everything");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn own(socket_dir: &str) -> Address {
        Address::Own {
            socket_dir: socket_dir.into(),
            port: 5433,
            password: "s3cret".to_owned(),
        }
    }

    #[test]
    fn the_url_of_a_server_of_our_own_names_loopback_and_encodes_the_database() {
        let url = own("/run").url("my db/ü");
        assert_eq!(
            url,
            "postgres://ziggurat:s3cret@127.0.0.1:5433/my%20db%2F%C3%BC?sslmode=disable"
        );
        let options = PgConnectOptions::from_str(&url).expect("a URL");
        assert_eq!(options.get_database(), Some("my db/ü"));
    }

    #[test]
    fn the_folder_of_the_socket_is_percent_encoded_and_reads_back() {
        for folder in ["/run", "/var/my cache/ü@:?#%2F", "/a+b&c=d"] {
            let url = own(folder).socket_url("x").expect("has a socket");
            assert!(!url.contains("s3cret"), "{url}");
            let options = PgConnectOptions::from_str(&url).expect("a URL");
            assert_eq!(
                options.get_socket().map(PathBuf::as_path),
                Some(Path::new(folder)),
                "{url}"
            );
            assert_eq!(options.get_port(), 5433, "{url}");
            assert_eq!(options.get_username(), "ziggurat", "{url}");
        }
    }

    #[test]
    fn the_database_of_a_given_url_is_replaced_wherever_it_stands() {
        let cases = [
            ("postgres://u:p@h:5/old", "postgres://u:p@h:5/new"),
            ("postgres://u:p@h:5", "postgres://u:p@h:5/new"),
            ("postgres://u:p@h:5/", "postgres://u:p@h:5/new"),
            (
                "postgres://h/old?sslmode=require",
                "postgres://h/new?sslmode=require",
            ),
            (
                "postgres://h?dbname=old&host=%2Frun",
                "postgres://h/new?host=%2Frun",
            ),
            (
                "postgresql:///old?host=/run&dbname=x&port=6",
                "postgresql:///new?host=/run&port=6",
            ),
            ("postgres://h/old?dbname=x", "postgres://h/new"),
            ("postgres://h/old#part", "postgres://h/new"),
        ];
        for (url, expected) in cases {
            let given = Address::Given {
                url: url.to_owned(),
            };
            assert_eq!(given.url("new"), expected, "{url}");
        }
    }

    #[test]
    fn debug_shows_no_way_in() {
        let given = Address::Given {
            url: "postgres://u:s3cret@h/db".to_owned(),
        };
        for address in [own("/run"), given] {
            let debug = format!("{address:?}");
            assert!(!debug.contains("s3cret"), "{debug}");
        }
    }

    proptest! {
        #[test]
        fn any_url_takes_a_database_without_losing_who_and_where(
            rest in r"[a-z]{1,8}(:[a-z]{1,8})?@[a-z]{1,8}(:[1-9][0-9]{0,3})?(/[a-z%]{0,8})?(\?[a-z]=[a-z/?]{0,5})?",
        ) {
            let url = with_database(&format!("postgres://{rest}"), "new");
            let options = PgConnectOptions::from_str(&url).expect("still a URL");
            prop_assert_eq!(options.get_database(), Some("new"));
            let before = PgConnectOptions::from_str(&format!("postgres://{rest}"));
            if let Ok(before) = before {
                prop_assert_eq!(options.get_host(), before.get_host());
                prop_assert_eq!(options.get_port(), before.get_port());
                prop_assert_eq!(options.get_username(), before.get_username());
            }
        }

        #[test]
        fn no_url_makes_it_panic(url: String, database: String) {
            with_database(&url, &database);
        }
    }
}
