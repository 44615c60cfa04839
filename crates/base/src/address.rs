//! Distinguishes public IP addresses from local, private and reserved ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    Public,
    /// This machine.
    Loopback,
    /// A network of its own, such as that of a company.
    Private,
    /// Everything else, such as the metadata services of clouds.
    Reserved,
}

impl AddressClass {
    pub fn of(address: IpAddr) -> Self {
        let address = match address {
            IpAddr::V6(v6) => embedded(v6).map_or(address, IpAddr::V4),
            IpAddr::V4(_) => address,
        };
        let private = match address {
            IpAddr::V4(v4) => v4.is_private() || is_shared(v4),
            IpAddr::V6(v6) => v6.is_unique_local() && v6 != AWS_METADATA,
        };
        match address {
            _ if is_public(address) => AddressClass::Public,
            _ if address.is_loopback() => AddressClass::Loopback,
            _ if private && address != IpAddr::V4(ALIBABA_METADATA) => AddressClass::Private,
            _ => AddressClass::Reserved,
        }
    }
}

/// The metadata services that have the address of a private network.
const AWS_METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
const ALIBABA_METADATA: Ipv4Addr = Ipv4Addr::new(100, 100, 100, 200);

/// The metadata service of Azure, which has a public-looking address.
const AZURE_METADATA: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let inward = address.is_private() || address.is_loopback() || address.is_link_local() || address == AZURE_METADATA;
    let special = a == 0
        || a >= 224
        || (a == 192 && b == 0 && (c == 0 || c == 2))
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113);
    !(inward || is_shared(address) || special)
}

/// Addresses that providers share between customers.
fn is_shared(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    a == 100 && (64..128).contains(&b)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = embedded(address) {
        return is_public_v4(inner);
    }
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is allocated; within it, tunnels (2001::/23) and documentation ranges are not public.
    let allocated = first & 0xe000 == 0x2000;
    let tunnel = first == 0x2001 && second < 0x0200;
    let documentation = (first == 0x2001 && second == 0x0db8) || (first == 0x3fff && second < 0x1000);
    allocated && !tunnel && !documentation
}

/// The IPv4 address embedded in an IPv6 address: mapped, compatible, translated (NAT64) or tunnelled (6to4).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => v4(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => v4(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_of_the_public_internet() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn the_networks_that_are_not_public_are_told_apart() {
        let class = |address: &str| AddressClass::of(address.parse().unwrap());
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(class(address), AddressClass::Loopback, "{address}");
        }
        for address in ["10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fc00::1", "::ffff:10.0.0.1"] {
            assert_eq!(class(address), AddressClass::Private, "{address}");
        }
        for address in ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "0.0.0.0", "fe80::1", "224.0.0.1"] {
            assert_eq!(class(address), AddressClass::Reserved, "{address}");
        }
        assert_eq!(class("8.8.8.8"), AddressClass::Public);
    }

    #[test]
    fn what_is() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.0.1",
            "100.128.0.1",
            "172.32.0.1",
            "192.1.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
