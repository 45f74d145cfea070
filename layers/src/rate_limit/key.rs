//! The key under which requests are counted together.

use std::{
    fmt,
    hash::{BuildHasher as _, Hash, Hasher, RandomState},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use crate::client_ip::ClientIp;

/// The key under which requests are counted: an address or an identity.
///
/// A single customer gets at least a whole IPv6 /64 and can change the address within it at will,
/// so counting single IPv6 addresses would limit nothing: the key of an IPv6 address is its network
/// of 64 bits. IPv4-mapped IPv6 addresses count as IPv4 addresses.
///
/// ```
/// use std::net::IpAddr;
/// use ziggurat_layers::rate_limit::Key;
///
/// let home = Key::from("2001:db8:0:7::1".parse::<IpAddr>()?);
/// assert_eq!(home, Key::from("2001:db8:0:7:ffff::2".parse::<IpAddr>()?));
/// assert_eq!(home.to_string(), "2001:db8:0:7::/64");
/// # Ok::<_, std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(Caller);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    V4(Ipv4Addr),
    /// The upper 64 bits.
    V6(u64),
    /// 128 bits of the hash of an identity.
    Identity([u64; 2]),
    Unknown,
}

// === impl Key ===

impl Key {
    /// The key of all requests from unknown clients, which share one limit.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::Key;
    ///
    /// assert_ne!(Key::UNKNOWN, Key::of(&"unknown"));
    /// ```
    pub const UNKNOWN: Self = Self(Caller::Unknown);

    /// Returns the key of an identity: a user, a tenant, the digest of a token.
    ///
    /// Equal values have equal keys within one process. The hash is seeded anew for each process,
    /// so a client cannot choose a name with the key of another, and keys must not be stored.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::Key;
    ///
    /// assert_eq!(Key::of(&"alice"), Key::of(&String::from("alice")));
    /// assert_ne!(Key::of(&"alice"), Key::of(&"bob"));
    /// ```
    #[must_use]
    pub fn of<T: Hash + ?Sized>(identity: &T) -> Self {
        // Two independent hashes of 64 bits, because one would collide for clients by accident.
        static SEEDS: LazyLock<[RandomState; 2]> =
            LazyLock::new(|| [RandomState::new(), RandomState::new()]);
        Self(Caller::Identity(
            SEEDS.each_ref().map(|seed| seed.hash_one(identity)),
        ))
    }
}

impl Hash for Key {
    /// Writes one number, because a key is hashed for every request.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(match self.0 {
            Caller::V4(address) => address.to_bits().into(),
            Caller::V6(upper) => upper,
            Caller::Identity([first, _]) => first,
            Caller::Unknown => u64::MAX,
        });
    }
}

impl From<IpAddr> for Key {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => Caller::V4(address),
            IpAddr::V6(address) => {
                let upper = u64::try_from(address.to_bits() >> 64);
                Caller::V6(upper.expect("64 of 128 bits are left"))
            }
        })
    }
}

impl From<ClientIp> for Key {
    fn from(caller: ClientIp) -> Self {
        caller.client().into()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Caller::V4(address) => write!(f, "{address}"),
            Caller::V6(upper) => write!(f, "{}/64", Ipv6Addr::from(u128::from(upper) << 64)),
            Caller::Identity([first, second]) => write!(f, "identity {first:016x}{second:016x}"),
            Caller::Unknown => f.write_str("unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_customer_have_one_key() {
        let cases = [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
            ("2001:db8:1:3::", "2001:db8:1:3::/64"),
            ("::1", "::/64"),
        ];
        for (address, expected) in cases {
            let key = Key::from(address.parse::<IpAddr>().expect(address));
            assert_eq!(key.to_string(), expected, "{address}");
        }
        assert_eq!(Key::UNKNOWN.to_string(), "unknown");
        // No address has the key of unknown clients.
        assert_ne!(Key::UNKNOWN, Key::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
        assert_ne!(Key::UNKNOWN, Key::from(IpAddr::V6(Ipv6Addr::UNSPECIFIED)));
    }
}
