//! Errors of HTTP requests to servers.

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("HTTP request failed: {0}")]
    Broken(String),
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the server named an endpoint with a different origin, {0}; the proxy does not send requests there")]
    OtherOrigin(String),
    #[error("invalid header `{0}`")]
    Header(String),
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        // A URL may carry a token in its query; the config names the server anyway.
        let error = error.without_url();
        let cause = root_cause(&error);
        if error.is_connect() { HttpError::Connect(cause) } else { HttpError::Broken(cause) }
    }
}

/// The text of the innermost source, which says what happened on the socket.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
