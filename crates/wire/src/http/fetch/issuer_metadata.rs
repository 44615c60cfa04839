//! Where an issuer describes itself (RFC 8414, OpenID Connect Discovery).

use url::Url;

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// Where the metadata of an issuer may be, in the order in which they are asked for. Never at the root for an issuer
/// with a path: that is another issuer's.
pub fn issuer_metadata_urls(issuer: &Url) -> Vec<Url> {
    let paths = match issuer.path().trim_end_matches('/') {
        "" => vec![OAUTH.to_owned(), OPENID.to_owned()],
        path => vec![format!("{OAUTH}{path}"), format!("{OPENID}{path}"), format!("{path}{OPENID}")],
    };
    let at = |path: &String| {
        let mut url = issuer.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.set_path(path);
        url
    };
    paths.iter().map(at).collect()
}

/// Whether two texts name one issuer: they are equal, but for the slash of an issuer without a path, which some write and
/// others do not.
pub fn is_same_issuer(one: &str, other: &str) -> bool {
    fn without_root_slash(issuer: &str) -> &str {
        let is_root = Url::parse(issuer).is_ok_and(|url| url.path() == "/" && url.query().is_none());
        if is_root { issuer.strip_suffix('/').unwrap_or(issuer) } else { issuer }
    }
    one == other || without_root_slash(one) == without_root_slash(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_itself_with_or_without_the_slash_of_its_root() {
        assert!(is_same_issuer("https://a", "https://a"));
        assert!(is_same_issuer("https://a", "https://a/"));
        assert!(is_same_issuer("https://a/t", "https://a/t"));
        for (one, other) in [("https://a/t", "https://a/t/"), ("https://a", "https://A"), ("https://a", "https://a//")]
        {
            assert!(!is_same_issuer(one, other), "{one} {other}");
        }
    }
}
