//! Asks a server of this machine whether it is well.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use reqwest::{Client, StatusCode};
use thiserror::Error;
use ziggurat_runtime::{Address, causes};

/// Time limit of a question.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Reason why a server is not well.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Unwell {
    /// The server uses standard input and output.
    #[error("HTTP is not enabled")]
    NoHttp,
    /// Its address cannot be found.
    #[error("{address}: the host name has no address")]
    NoAddress {
        /// The address of the configuration.
        address: Address,
    },
    /// It does not answer.
    #[error("{url}: {cause}")]
    NoAnswer {
        /// The question.
        url: String,
        /// The cause.
        cause: String,
    },
    /// It answers that it is not.
    #[error("{url}: {status} {body}")]
    Answer {
        /// The question.
        url: String,
        /// The status.
        status: StatusCode,
        /// The first line of the answer.
        body: String,
    },
}

/// Asks the server at an address of this machine, and returns the answer.
///
/// Certificates are not verified: the server is on this machine, and has a name of elsewhere.
///
/// # Errors
/// Fails if the answer is not 200, or takes longer than two seconds.
pub async fn ask(address: &Address, has_tls: bool, path: &str) -> Result<String, Unwell> {
    let nowhere = || Unwell::NoAddress {
        address: address.clone(),
    };
    let sockets = address.candidates().map_err(|_| nowhere())?;
    let mut last = nowhere();
    for mut socket in sockets {
        socket.set_ip(reachable(socket.ip()));
        let scheme = if has_tls { "https" } else { "http" };
        let url = format!("{scheme}://{socket}{path}");
        match get(&url).await {
            Ok((StatusCode::OK, body)) => return Ok(body),
            Ok((status, body)) => {
                let body = body.lines().next().unwrap_or_default().to_owned();
                return Err(Unwell::Answer { url, status, body });
            }
            Err(error) => {
                let cause = causes(&error.without_url());
                last = Unwell::NoAnswer { url, cause };
            }
        }
    }
    Err(last)
}

async fn get(url: &str) -> Result<(StatusCode, String), reqwest::Error> {
    let client = Client::builder()
        .timeout(TIMEOUT)
        .no_proxy()
        .danger_accept_invalid_certs(true)
        .build()?;
    let response = client.get(url).send().await?;
    Ok((response.status(), response.text().await?))
}

/// Returns an address that reaches a server which listens on this one.
fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}
