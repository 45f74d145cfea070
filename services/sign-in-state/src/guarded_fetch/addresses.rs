//! Addresses that are not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that are not public, by the registry of special addresses (RFC 6890).
const FORBIDDEN: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // Relays from IPv4 to IPv6.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // The wire server of a cloud, which hands out credentials.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// All addresses of IPv6 that can be public.
const GLOBAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Networks among them that are not public.
const FORBIDDEN_GLOBAL: [(Ipv6Addr, u32); 4] = [
    // Protocols, with tunnels to addresses of IPv4 among them.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // Addresses of IPv4 that a relay unpacks.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Networks with an address of IPv4 in their last 32 bits: mapped, and translated (RFC 6052).
const WITH_V4: [(Ipv6Addr, u32); 2] = [
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96),
];

/// Returns whether an address is a public one.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) if WITH_V4.iter().any(|network| has(*network, address)) => {
            let [.., a, b, c, d] = address.octets();
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        IpAddr::V6(address) => {
            let mut forbidden = FORBIDDEN_GLOBAL.iter();
            has(GLOBAL, address) && !forbidden.any(|network| has(*network, address))
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_in = |(network, bits): &(Ipv4Addr, u32)| {
        (network.to_bits() ^ address.to_bits()).leading_zeros() >= *bits
    };
    !FORBIDDEN.iter().any(is_in)
}

fn has((network, bits): (Ipv6Addr, u32), address: Ipv6Addr) -> bool {
    (network.to_bits() ^ address.to_bits()).leading_zeros() >= bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses at which a server of the own network may listen, or no server at all.
    const BAD: &str = "
        0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.0.0.53
        127.255.255.254 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255
        168.63.129.16 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255
        198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
        255.255.255.255
        :: ::1 ::2 ::127.0.0.1 ::10.0.0.1 ::8.8.8.8 ::ffff:0.0.0.0 ::ffff:127.0.0.1 ::ffff:10.0.0.1
        ::ffff:169.254.169.254 ::ffff:192.168.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1
        64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1::1 2001:2::1
        2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 2002:808:808::1 3fff::1
        5f00::1 fc00::1 fd00:ec2::254 fdff::1 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1";

    /// Neighbours of these, and well-known servers.
    const GOOD: &str = "
        1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
        169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0
        198.17.255.255 198.20.0.0 223.255.255.255 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2001:200::1
        2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450::1 3ffe::1";

    #[test]
    fn sixty_forbidden_addresses_are_not_public_and_their_neighbours_are() {
        let read = |text: &'static str| text.split_whitespace();
        assert!(read(BAD).count() >= 60, "{}", read(BAD).count());
        for (text, expected) in [(BAD, false), (GOOD, true)] {
            for address in read(text) {
                let parsed = address.parse().expect(address);
                assert_eq!(is_public(parsed), expected, "{address}");
            }
        }
    }
}
