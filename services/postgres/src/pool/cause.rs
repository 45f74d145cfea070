//! Reasons for a failed connection, in words for clients.

use std::{error::Error, fmt, io};

use crate::{
    database::{CommandFailure, Host},
    error::{DriverError, Report},
};

/// Reason for a failed connection to one host. `Display` shows only what clients may see.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// PostgreSQL reported an error.
    Report(Box<Report>),
    /// The host refused the connection.
    Refused,
    /// It did not answer.
    TimedOut,
    /// Its name could not be resolved.
    Unresolved,
    /// There is no route to it.
    Unreachable,
    /// The operating system does not permit the connection.
    Forbidden,
    /// It closed the connection.
    Closed,
    /// TLS is required, and it does not support it.
    NoTls,
    /// Its certificate is not valid for the host, or not trusted.
    Certificate(&'static str),
    /// TLS failed for another reason.
    Tls,
    /// It does not have the required role, or asks for authentication in a way that is not accepted.
    Unfit(&'static str),
    /// A program that the connection needs failed.
    Command(Box<CommandFailure>),
    /// It does not follow the PostgreSQL protocol.
    Protocol,
}

/// Host that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TriedHost {
    /// The host.
    pub host: Host,
    /// The reason of the failure.
    pub cause: Cause,
}

/// Text about the hosts that were tried: of one only the cause, of several also their names.
pub(super) struct HostCauses<'a>(pub(super) &'a [TriedHost]);

// === impl Cause ===

impl Cause {
    /// Classifies an error of the driver.
    pub(super) fn new(error: &DriverError) -> Self {
        match error {
            DriverError::Server(error) => Self::Report(Box::new(Report::new(error, 0))),
            DriverError::Io(error) => Self::of_io(error),
            DriverError::NoTls => Self::NoTls,
            DriverError::Auth(why) => Self::Unfit(why),
            DriverError::TimedOut => Self::TimedOut,
            DriverError::Command(failure) => Self::Command(failure.clone()),
            _ => Self::Protocol,
        }
    }

    fn of_io(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;

        let inner = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
        if let Some(error) = inner.and_then(|inner| inner.downcast_ref()) {
            return Self::of_tls(error);
        }
        match error.kind() {
            // `NotFound` is a missing Unix socket.
            Kind::ConnectionRefused | Kind::NotFound => Self::Refused,
            Kind::TimedOut => Self::TimedOut,
            Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            | Kind::AddrNotAvailable => Self::Unreachable,
            Kind::PermissionDenied => Self::Forbidden,
            Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::UnexpectedEof => Self::Closed,
            Kind::InvalidData => Self::Protocol,
            // Errors of the resolver have no OS error code and no kind of their own.
            _ if error.raw_os_error().is_none() => Self::Unresolved,
            _ => Self::Unreachable,
        }
    }

    fn of_tls(error: &rustls::Error) -> Self {
        use rustls::CertificateError as Bad;

        match error {
            rustls::Error::InvalidCertificate(bad) => Self::Certificate(match bad {
                Bad::Expired | Bad::ExpiredContext { .. } => "it has expired",
                Bad::NotValidYet | Bad::NotValidYetContext { .. } => "it is not valid yet",
                Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                    "it is for another host"
                }
                Bad::UnknownIssuer => "its issuer is not known",
                Bad::Revoked => "it was revoked",
                _ => "it is not valid",
            }),
            _ => Self::Tls,
        }
    }

    /// Returns whether the server might accept the same user with TLS instead of without, or the
    /// reverse.
    ///
    /// Not after a wrong password, which is sent only once.
    pub(super) fn is_about_the_way(&self) -> bool {
        match self {
            // invalid_authorization_specification: no entry in pg_hba.conf for it.
            Self::Report(report) => report.sqlstate == "28000",
            Self::NoTls | Self::Certificate(_) | Self::Tls => true,
            _ => false,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Report(report) => return report.fmt(f),
            Self::Certificate(why) => {
                return write!(f, "the certificate of the server is refused: {why}");
            }
            Self::Command(failure) => return failure.fmt(f),
            Self::Unfit(why) => why,
            Self::Refused => "connection refused",
            Self::TimedOut => "timed out",
            Self::Unresolved => "host name could not be resolved",
            Self::Unreachable => "host cannot be reached",
            Self::Forbidden => "permission denied",
            Self::Closed => "the server closed the connection",
            Self::NoTls => "the server does not support TLS",
            Self::Tls => "TLS handshake failed",
            Self::Protocol => "the server does not speak the protocol of PostgreSQL",
        })
    }
}

// === impl HostCauses ===

impl fmt::Display for HostCauses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("no host to try"),
            [only] => only.cause.fmt(f),
            several => {
                for (at, TriedHost { host, cause }) in several.iter().enumerate() {
                    let separator = if at == 0 { "" } else { "; " };
                    write!(f, "{separator}{host}: {cause}")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_become_short_messages() {
        use io::ErrorKind as Kind;

        let of = |kind: Kind| io::Error::from(kind);
        let cases = [
            (of(Kind::ConnectionRefused), "connection refused"),
            (of(Kind::NotFound), "connection refused"),
            (of(Kind::TimedOut), "timed out"),
            (of(Kind::BrokenPipe), "the server closed the connection"),
            (of(Kind::UnexpectedEof), "the server closed the connection"),
            (
                io::Error::other("failed to lookup address: /etc/secret"),
                "host name could not be resolved",
            ),
            (io::Error::from_raw_os_error(113), "host cannot be reached"),
            (
                io::Error::new(Kind::InvalidData, rustls::Error::DecryptError),
                "TLS handshake failed",
            ),
            (
                io::Error::new(
                    Kind::InvalidData,
                    rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer),
                ),
                "the certificate of the server is refused: its issuer is not known",
            ),
        ];
        for (error, expected) in cases {
            let shown = format!("{error:?}");
            let cause = Cause::new(&DriverError::Io(error));
            assert_eq!(cause.to_string(), expected, "{shown}");
        }
    }

    #[test]
    fn several_hosts_are_named_and_one_is_not() {
        let tried = [
            TriedHost {
                host: Host::new("one", 5432),
                cause: Cause::TimedOut,
            },
            TriedHost {
                host: Host::new("/var/secret", 5433),
                cause: Cause::Unfit("the server is a standby"),
            },
        ];
        assert_eq!(HostCauses(&tried[..1]).to_string(), "timed out");
        assert_eq!(
            HostCauses(&tried).to_string(),
            "one:5432: timed out; local socket 5433: the server is a standby"
        );
    }
}
