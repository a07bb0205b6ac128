//! Addresses that are nobody's on the internet: private, of this machine, of this link, or where clouds keep credentials.
//!
//! Behind a name that a rule allows may stand any address, chosen by whoever runs the name's server. So these are refused
//! whatever the name, unless a rule names them by address. The table follows the IANA special-purpose registries (IPv4 and
//! IPv6, RFC 6890 and its updates); the metadata addresses come from the clouds' manuals. An IPv6 address that carries an
//! IPv4 one is judged by that one, in every spelling that some system routes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Where a cloud gives a machine its credentials, or its control. First, as the reason that people need to see.
const METADATA: &[(IpAddr, &str)] = &[
    (v4(169, 254, 169, 254), "the metadata service of most clouds"),
    (v4(169, 254, 170, 2), "the credentials of containers in AWS"),
    (v4(169, 254, 170, 23), "the credentials of pods in AWS"),
    (v4(100, 100, 100, 200), "the metadata service of Alibaba Cloud"),
    (v4(192, 0, 0, 192), "the metadata service of Oracle Cloud"),
    (
        v4(168, 63, 129, 16),
        "the control address of Azure, which is a public one",
    ),
    (
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
        "the metadata service of AWS over IPv6",
    ),
    (
        IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
        "the metadata service of Google Cloud over IPv6",
    ),
];

/// Special ranges of IPv4.
const RANGES_V4: &[(Ipv4Net, &str)] = &[
    (net4(0, 0, 0, 0, 8), "this machine (0.0.0.0/8)"),
    (net4(10, 0, 0, 0, 8), "a private network"),
    (net4(100, 64, 0, 0, 10), "a provider's private network (CGNAT)"),
    (net4(127, 0, 0, 0, 8), "this machine (loopback)"),
    (net4(169, 254, 0, 0, 16), "this link"),
    (net4(172, 16, 0, 0, 12), "a private network"),
    (net4(192, 0, 0, 0, 24), "reserved for protocols"),
    (net4(192, 0, 2, 0, 24), "for documentation (TEST-NET-1)"),
    (net4(192, 88, 99, 0, 24), "a former relay (6to4)"),
    (net4(192, 168, 0, 0, 16), "a private network"),
    (net4(198, 18, 0, 0, 15), "for benchmarks"),
    (net4(198, 51, 100, 0, 24), "for documentation (TEST-NET-2)"),
    (net4(203, 0, 113, 0, 24), "for documentation (TEST-NET-3)"),
    (net4(224, 0, 0, 0, 4), "multicast"),
    (net4(240, 0, 0, 0, 4), "reserved"),
];

/// Special ranges of IPv6. Those that carry an IPv4 address are handled in [`carried`].
const RANGES_V6: &[(Ipv6Net, &str)] = &[
    (net6([0, 0, 0, 0, 0, 0, 0, 0], 128), "this machine (unspecified)"),
    (net6([0, 0, 0, 0, 0, 0, 0, 1], 128), "this machine (loopback)"),
    (
        net6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
        "a local translation to IPv4",
    ),
    (net6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "discarded"),
    (
        net6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
        "reserved for protocols (Teredo among them)",
    ),
    (net6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "for documentation"),
    (net6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "for documentation"),
    (net6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), "segment routing"),
    (net6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "a private network (ULA)"),
    (net6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "this link"),
    (
        net6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
        "a private network (site-local)",
    ),
    (net6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "multicast"),
];

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

const fn net4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn net6(parts: [u16; 8], length: u8) -> Ipv6Net {
    let [a, b, c, d, e, f, g, h] = parts;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), length)
}

/// The address that a connection to `address` really reaches, where that is plain: `::ffff:10.0.0.1` is `10.0.0.1`.
#[must_use]
pub fn canonical(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// The IPv4 address that an IPv6 address carries for some translator: compatible, NAT64, 6to4, ISATAP.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        // `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0] if (g, h) != (0, 0) && (g, h) != (0, 1) => Some(of(g, h)),
        [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(of(g, h)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        [_, _, _, _, 0 | 0x200, 0x5efe] => Some(of(g, h)),
        _ => None,
    }
}

/// Why nobody on the internet has this address; `None` for one that is public.
#[must_use]
pub fn special(address: IpAddr) -> Option<&'static str> {
    let address = canonical(address);
    let metadata = METADATA.iter().find(|(listed, _)| *listed == address);
    metadata.map(|(_, reason)| *reason).or_else(|| match address {
        IpAddr::V4(v4) => RANGES_V4
            .iter()
            .find(|(range, _)| range.contains(&v4))
            .map(|(_, reason)| *reason),
        IpAddr::V6(v6) => RANGES_V6
            .iter()
            .find(|(range, _)| range.contains(&v6))
            .map(|(_, reason)| *reason)
            .or_else(|| special(IpAddr::V4(carried(v6)?))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> Option<&'static str> {
        special(text.parse().unwrap())
    }

    #[test]
    fn no_spelling_of_a_special_address_is_public() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "fe80::1",
            "fe80::200:5efe:a00:1",
            "fc00::1",
            "fd00:ec2::254",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "100::1",
            "2606:4700::5efe:192.168.0.1",
        ] {
            assert!(reason(text).is_some(), "{text}");
        }
    }

    #[test]
    fn public_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1",
            "2a00:1450::1",
            "64:ff9b::808:808",
            "::ffff:8.8.8.8",
        ] {
            assert_eq!(reason(text), None, "{text}");
        }
    }

    #[test]
    fn the_reason_names_the_metadata_service_before_the_range() {
        assert!(reason("169.254.169.254").unwrap().contains("metadata"));
        assert!(reason("::ffff:169.254.169.254").unwrap().contains("metadata"));
    }
}
