//! The networks of trusted proxies.

use std::{
    error::Error,
    fmt,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
    sync::Arc,
};

use ipnet::IpNet;

/// The networks of the trusted proxies: the server believes their headers.
///
/// Made from text: networks (`10.0.0.0/8`, `2001:db8::/32`) and single addresses
/// (`192.0.2.1`), separated by commas. The default trusts no proxy. Clones share one list.
///
/// ```
/// use ziggurat_layers::client_ip::TrustedProxies;
///
/// let trusted: TrustedProxies = "10.0.0.0/8, 192.0.2.1".parse()?;
/// assert!(trusted.contains("10.1.2.3".parse().unwrap()));
/// assert!(!trusted.contains("192.0.2.2".parse().unwrap()));
///
/// let from_a_list = TrustedProxies::try_from_iter(["10.0.0.0/8", "192.0.2.1"])?;
/// assert_eq!(trusted, from_a_list);
///
/// let typo = "10.1.2.3/8".parse::<TrustedProxies>().unwrap_err();
/// assert_eq!(typo.to_string(), "not a network: 10.1.2.3/8 (did you mean 10.0.0.0/8?)");
/// # Ok::<_, ziggurat_layers::client_ip::InvalidNetwork>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct TrustedProxies {
    networks: Arc<[IpNet]>,
}

/// A text that names no network.
///
/// ```
/// use ziggurat_layers::client_ip::TrustedProxies;
///
/// let error = "10.0.0.0/33".parse::<TrustedProxies>().unwrap_err();
/// assert_eq!(error.to_string(), "not a network: 10.0.0.0/33 (expected a prefix of 0 to 32 bits)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidNetwork {
    text: String,
    reason: NetworkReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NetworkReason {
    Address,
    Zone,
    PrefixLength { max: u8 },
    HostBits { network: IpNet },
}

// === impl TrustedProxies ===

impl TrustedProxies {
    /// Collects networks, each given as a text of its own.
    ///
    /// ```
    /// use ziggurat_layers::client_ip::TrustedProxies;
    ///
    /// let from_a_file = ["10.0.0.0/8", "2001:db8:1::/48"];
    /// assert!(TrustedProxies::try_from_iter(from_a_file).is_ok());
    /// assert!(TrustedProxies::try_from_iter(["proxy.example"]).is_err());
    /// ```
    ///
    /// # Errors
    /// Fails on the first text that is neither a network nor an address.
    pub fn try_from_iter<T: AsRef<str>>(
        networks: impl IntoIterator<Item = T>,
    ) -> Result<Self, InvalidNetwork> {
        let networks = networks
            .into_iter()
            .map(|text| network(text.as_ref().trim()))
            .collect::<Result<_, _>>()?;
        Ok(Self { networks })
    }

    /// Returns whether a proxy at this address is believed.
    ///
    /// ```
    /// use ziggurat_layers::client_ip::TrustedProxies;
    ///
    /// let trusted: TrustedProxies = "10.0.0.0/8".parse()?;
    /// assert!(trusted.contains("::ffff:10.0.0.7".parse()?));
    /// assert!(!trusted.contains("192.0.2.1".parse()?));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks
            .iter()
            .any(|network| network.contains(&address))
    }
}

impl FromStr for TrustedProxies {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        Self::try_from_iter(text.split(','))
    }
}

// === impl InvalidNetwork ===

impl fmt::Display for InvalidNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, reason } = self;
        if text.is_empty() {
            return f.write_str("not a network: the text is empty");
        }
        write!(f, "not a network: {text} ")?;
        match reason {
            NetworkReason::Address => f.write_str("(expected an IP address or network/prefix)"),
            NetworkReason::Zone => f.write_str("(zone ids are not allowed)"),
            NetworkReason::PrefixLength { max } => {
                write!(f, "(expected a prefix of 0 to {max} bits)")
            }
            NetworkReason::HostBits { network } => write!(f, "(did you mean {network}?)"),
        }
    }
}

impl Error for InvalidNetwork {}

fn network(text: &str) -> Result<IpNet, InvalidNetwork> {
    let invalid = |reason| InvalidNetwork {
        text: text.to_owned(),
        reason,
    };
    if text.contains('%') {
        return Err(invalid(NetworkReason::Zone));
    }
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let address: IpAddr = address
        .parse()
        .map_err(|_| invalid(NetworkReason::Address))?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    let prefix = match prefix {
        None => Some(max),
        // A sign, which the number parser would take, is not part of the notation.
        Some(digits) if !digits.bytes().all(|byte| byte.is_ascii_digit()) => None,
        Some(digits) => digits.parse().ok(),
    };
    let network = prefix
        .and_then(|prefix| IpNet::new(address, prefix).ok())
        .ok_or_else(|| invalid(NetworkReason::PrefixLength { max }))?;
    if network.trunc() != network {
        // A missing digit could mean trust in 16 million addresses.
        let network = network.trunc();
        return Err(invalid(NetworkReason::HostBits { network }));
    }
    Ok(to_ipv4_if_mapped(network))
}

/// Converts `::ffff:10.0.0.0/104` to `10.0.0.0/8`, since addresses are converted before the
/// look-up.
fn to_ipv4_if_mapped(network: IpNet) -> IpNet {
    const MAPPED_BITS: u8 = 96;
    let IpNet::V6(v6) = network else {
        return network;
    };
    let v4 = Ipv6Addr::to_ipv4_mapped(&v6.addr());
    match (v4, v6.prefix_len().checked_sub(MAPPED_BITS)) {
        (Some(v4), Some(prefix)) => IpNet::new(v4.into(), prefix).unwrap_or(network),
        _ => network,
    }
}
