//! The proxies that a request has passed, in the header `Proxy-Via`. A proxy that finds itself there is its own server. The
//! header only ever refuses a request: whoever makes it up gains nothing.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::RpcError;
use proxy_model::Home;

pub static PROXY_VIA: HeaderName = HeaderName::from_static("proxy-via");

/// The maximum number of proxies that a request may have passed.
const MAX_HOPS: usize = 8;

/// This process. Its name itself stands in ids, so others get a digest.
static OWN: LazyLock<String> = LazyLock::new(|| Home::of_this_process().digest());

/// The header of a request that this process makes on its own.
pub fn own_hop() -> HeaderValue {
    HeaderValue::from_str(&OWN).unwrap_or_else(|_| HeaderValue::from_static("proxy"))
}

/// The header of a request that this process makes for one that has passed `hops`.
pub fn with_own_hop(hops: &str) -> String {
    format!("{hops}, {}", *OWN)
}

/// The proxies that a request has passed; none without the header.
pub fn passed(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(&PROXY_VIA).iter().filter_map(|value| value.to_str().ok()).peekable();
    values.peek()?;
    Some(values.collect::<Vec<_>>().join(", "))
}

/// Why a request that has passed these proxies goes no further.
pub fn refused(hops: &str) -> Option<RpcError> {
    let mut passed = hops.split(',').map(str::trim);
    if passed.clone().any(|hop| hop == *OWN) {
        return Some(RpcError::invalid_request(
            "this proxy is one of its own servers: a `url` in its config, or in that of a server, leads back to it",
        ));
    }
    if passed.nth(MAX_HOPS).is_some() {
        return Some(RpcError::invalid_request(&format!(
            "the request has passed more than {MAX_HOPS} proxies: a `url` in a config probably leads back to an earlier one"
        )));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_comes_back_and_one_that_goes_too_far_are_refused() {
        let hops = |count: usize| vec!["0123456789abcdef"; count].join(", ");
        assert!(refused("").is_none() && refused(&hops(8)).is_none());
        assert!(refused(&hops(9)).is_some_and(|error| error.message().contains("more than 8 proxies")));
        let back = with_own_hop(&hops(2));
        assert!(refused(&back).is_some_and(|error| error.message().contains("one of its own servers")));
        assert!(refused(own_hop().to_str().unwrap()).is_some());
        assert!(!back.contains(&Home::of_this_process().to_string()));
    }

    #[test]
    fn several_headers_are_one_way() {
        let mut headers = HeaderMap::new();
        assert_eq!(passed(&headers), None);
        for hop in ["a", "b, c"] {
            headers.append(&PROXY_VIA, HeaderValue::from_static(hop));
        }
        assert_eq!(passed(&headers).as_deref(), Some("a, b, c"));
    }
}
