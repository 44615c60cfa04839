//! The base environment of every child; all other variables must be named by the config.

const NAMES: [&str; 9] = ["PATH", "HOME", "USER", "LANG", "TMPDIR", "TZ", "SHELL", "TERM", super::ancestors::VARIABLE];
const PREFIXES: [&str; 2] = ["LC_", "XDG_"];
/// Points to the folder of the control sockets, which servers must not use.
const NOT_SAFE: &str = "XDG_RUNTIME_DIR";
/// Without these, programs cannot reach the internet from a network with certificates or a proxy of its own. Programs use
/// them in upper and in lower case.
const NETWORK: [&str; 9] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];

/// The variables of `all` that are safe to hand to any program, and those that are named.
pub fn base_environment(
    all: impl IntoIterator<Item = (String, String)>,
    is_named: impl Fn(&str) -> bool,
) -> Vec<(String, String)> {
    all.into_iter().filter(|(name, value)| is_named(name) || is_safe(name, value)).collect()
}

fn is_safe(name: &str, value: &str) -> bool {
    let is_network = || NETWORK.contains(&name) || NETWORK.contains(&name.to_ascii_uppercase().as_str());
    NAMES.contains(&name)
        || (name != NOT_SAFE && PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        || (is_network() && !has_credentials(value))
}

/// Whether the value is a URL with a user name or password.
fn has_credentials(value: &str) -> bool {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    rest.split('/').next().is_some_and(|authority| authority.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept<const COUNT: usize>(all: [(&str, &str); COUNT], named: &str) -> Vec<String> {
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        base_environment(all, |name| name == named).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn secrets_of_the_parent_stay_with_the_parent() {
        let all = ["PATH", "AWS_SECRET_ACCESS_KEY", "LC_ALL", "XDG_CACHE_HOME", "LD_PRELOAD"].map(|name| (name, ""));
        assert_eq!(kept(all, ""), ["PATH", "LC_ALL", "XDG_CACHE_HOME"]);
        assert_eq!(kept(all, "LD_PRELOAD"), ["PATH", "LC_ALL", "XDG_CACHE_HOME", "LD_PRELOAD"]);
        let sockets = [("XDG_RUNTIME_DIR", "/run/user/1000")];
        assert_eq!((kept(sockets, ""), kept(sockets, "XDG_RUNTIME_DIR").len()), (Vec::new(), 1));
    }

    #[test]
    fn the_way_to_the_internet_is_passed_on_unless_it_has_a_password() {
        let all = [
            ("SSL_CERT_FILE", "/etc/ca.pem"),
            ("https_proxy", "http://proxy:3128"),
            ("HTTP_PROXY", "http://me:secret@proxy:3128"),
            ("no_proxy", "localhost"),
        ];
        assert_eq!(kept(all, ""), ["SSL_CERT_FILE", "https_proxy", "no_proxy"]);
        assert_eq!(kept(all, "HTTP_PROXY"), ["SSL_CERT_FILE", "https_proxy", "HTTP_PROXY", "no_proxy"]);
    }
}
