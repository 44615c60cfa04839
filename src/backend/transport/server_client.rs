//! The HTTP client of one server: shows the log-in with each request, and sends a request once more if the log-in had to be
//! renewed for it.

use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

use super::error::TransportError;
use super::log_in::{AfterRefusal, LogIn};
use crate::wire::http::{HttpAnswer, HttpClient, HttpError};

#[derive(Clone, Debug)]
pub(crate) struct ServerClient {
    client: HttpClient,
    log_in: Arc<LogIn>,
}

/// Why there is no response.
#[derive(Debug)]
pub(crate) enum SendError {
    Http(HttpError),
    /// The server lets the proxy not in.
    Refused(TransportError),
}

impl From<HttpError> for SendError {
    fn from(error: HttpError) -> Self {
        SendError::Http(error)
    }
}

impl From<SendError> for TransportError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Http(error) => error.into(),
            SendError::Refused(error) => error,
        }
    }
}

enum Message {
    Post(Bytes),
    Get,
}

impl ServerClient {
    pub(crate) fn new(client: HttpClient, log_in: &Arc<LogIn>) -> Self {
        ServerClient { client, log_in: Arc::clone(log_in) }
    }

    /// The client for a URL that the server named, relative to its own.
    pub(crate) fn resolve(&self, reference: &str) -> Result<Self, HttpError> {
        Ok(ServerClient { client: self.client.resolve(reference)?, log_in: Arc::clone(&self.log_in) })
    }

    /// The headers every request to this server starts from.
    pub(crate) fn headers(&self) -> HeaderMap {
        self.client.headers()
    }

    /// Posts a message. A response with status 401 or 403 is an error.
    pub(crate) async fn post(&self, headers: HeaderMap, body: String) -> Result<HttpAnswer, SendError> {
        self.send(headers, Message::Post(body.into())).await
    }

    /// Opens an event stream. A response with status 401 or 403 is an error.
    pub(crate) async fn get(&self, headers: HeaderMap) -> Result<HttpAnswer, SendError> {
        self.send(headers, Message::Get).await
    }

    /// Ends a session. A refusal is of no interest: the server ends the session by itself some day.
    pub(crate) async fn delete(&self, headers: HeaderMap) -> Result<HttpAnswer, SendError> {
        let shown = self.log_in.authorization().await.map_err(SendError::Refused)?;
        Ok(self.client.delete(with(headers, shown)).await?)
    }

    async fn send(&self, headers: HeaderMap, message: Message) -> Result<HttpAnswer, SendError> {
        if !self.log_in.has_credentials() {
            let answer = self.send_once(headers, message).await?;
            return match is_refusal(&answer) {
                true => Err(SendError::Refused(TransportError::unexpected(&answer))),
                false => Ok(answer),
            };
        }
        let mut is_second = false;
        loop {
            let shown = self.log_in.authorization().await.map_err(SendError::Refused)?;
            let again = match &message {
                Message::Post(body) => Message::Post(Bytes::clone(body)),
                Message::Get => Message::Get,
            };
            let answer = self.send_once(with(headers.clone(), shown.clone()), again).await?;
            if !is_refusal(&answer) {
                return Ok(answer);
            }
            match self.log_in.refused(&answer, shown, is_second).await {
                AfterRefusal::SendAgain => is_second = true,
                AfterRefusal::Fail(error) => return Err(SendError::Refused(error)),
            }
        }
    }

    async fn send_once(&self, headers: HeaderMap, message: Message) -> Result<HttpAnswer, HttpError> {
        match message {
            Message::Post(body) => self.client.post(headers, body).await,
            Message::Get => self.client.get(headers).await,
        }
    }
}

fn is_refusal(answer: &HttpAnswer) -> bool {
    matches!(answer.status().as_u16(), 401 | 403)
}

fn with(mut headers: HeaderMap, authorization: Option<HeaderValue>) -> HeaderMap {
    if let Some(value) = authorization {
        headers.insert(AUTHORIZATION, value);
    }
    headers
}
