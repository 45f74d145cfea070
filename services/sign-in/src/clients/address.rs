//! The parts of an address that a browser is sent to.
//!
//! Addresses are compared as texts. A loopback address may have another port than the registered
//! one, because a program on a desktop takes a free port (RFC 8252, section 7.3).

/// Longest address, in bytes.
pub(crate) const LONGEST: usize = 2000;

/// Returns whether an address can be a redirect address at all.
pub(crate) fn is_well_formed(address: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'*' | b'#');
    if address.len() > LONGEST || !address.bytes().all(is_plain) {
        return false;
    }
    let Some((scheme, rest)) = address.split_once(':') else {
        return false;
    };
    if !is_scheme(scheme) {
        return false;
    }
    match scheme {
        "https" => host(rest).is_some(),
        "http" => loopback_host(address).is_some(),
        // Schemes that a browser would run or open itself.
        "javascript" | "data" | "vbscript" | "file" | "blob" | "about" | "ftp" | "ws" | "wss" => {
            false
        }
        _ => !rest.is_empty() && !has_user(rest),
    }
}

/// Returns whether an address fits one that was registered.
pub(crate) fn fits(address: &str, registered: &str) -> bool {
    if address == registered {
        return true;
    }
    is_well_formed(address)
        && match (without_port(address), without_port(registered)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        }
}

/// Returns the host of an address of http on this machine.
pub(crate) fn loopback_host(address: &str) -> Option<&str> {
    let rest = address.strip_prefix("http:")?;
    let host = host(rest)?;
    matches!(host, "localhost" | "127.0.0.1" | "[::1]").then_some(host)
}

/// Returns the host that a browser goes to, for a page.
pub(crate) fn shown_host(address: &str) -> Option<&str> {
    host(address.strip_prefix("https:")?)
}

/// Returns the host of what follows a scheme. Only letters, digits and `.-` can be in it, besides
/// the loopback address of IPv6, so that two readers of the address see the same host.
pub(crate) fn host(rest: &str) -> Option<&str> {
    let (host, port) = parts(rest)?.0;
    let is_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let is_name = !host.is_empty() && host.bytes().all(is_host) && !host.starts_with('.');
    let is_port = port.is_none_or(|port| {
        port.parse::<u16>().is_ok() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    ((is_name || host == "[::1]") && is_port).then_some(host)
}

/// Splits what follows a scheme into host and port, and the path with its query.
fn parts(rest: &str) -> Option<((&str, Option<&str>), &str)> {
    let rest = rest.strip_prefix("//")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let after_host = authority.rfind(']').map_or(0, |at| at + 1);
    let port = authority[after_host..].find(':').map(|at| at + after_host);
    let split = match port {
        Some(at) => (&authority[..at], Some(&authority[at + 1..])),
        None => (authority, None),
    };
    Some((split, path))
}

/// Returns the host, and the path with the query, of a loopback address.
fn without_port(address: &str) -> Option<(&str, &str)> {
    loopback_host(address)?;
    let ((host, _), path) = parts(address.strip_prefix("http:")?)?;
    Some((host, if path.is_empty() { "/" } else { path }))
}

fn has_user(rest: &str) -> bool {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    rest[..end].contains('@')
}

fn is_scheme(scheme: &str) -> bool {
    let is_part =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_lowercase()) && scheme.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_port_of_a_loopback_address_may_differ() {
        let registered = "http://127.0.0.1/callback";
        for address in [
            "http://127.0.0.1/callback",
            "http://127.0.0.1:49152/callback",
        ] {
            assert!(fits(address, registered), "{address}");
        }
        for address in [
            "http://localhost/callback",
            "http://127.0.0.1:1/callback/",
            "http://127.0.0.1:1/callback?x=y",
            "https://127.0.0.1/callback",
            "http://127.0.0.1:1@evil.example/callback",
        ] {
            assert!(!fits(address, registered), "{address}");
        }
        assert!(fits("http://[::1]:7", "http://[::1]:9/"));
        assert!(!fits("https://a.example:8/", "https://a.example/"));
    }
}
