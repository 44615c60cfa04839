//! Why there is no answer.

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("it names {0}, which is another server's")]
    OtherOrigin(String),
    #[error("a header value is not allowed: {0}")]
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

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
