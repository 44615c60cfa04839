//! An HTTP server in the test's own process: the test gives the answers.

use std::convert::Infallible;
use std::io;

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Starts to listen, with an address that is known before the answers are made.
pub async fn bind() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    (listener, format!("http://{address}"))
}

/// Answers each request with what `answer` says; `None` closes the connection instead.
pub fn serve<H, F>(listener: TcpListener, answer: H)
where
    H: Fn(Request<Bytes>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Option<Response<Body>>> + Send + 'static,
{
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let answer = answer.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = answer.clone();
                async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
                    let answered = answer(Request::from_parts(head, body)).await;
                    // The connection of a request that failed is closed without a word.
                    answered.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionReset))
                }
            });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
}

/// An answer with a status and a JSON body.
pub fn json(status: u16, value: &serde_json::Value) -> Response<Body> {
    let builder = Response::builder().status(status).header("content-type", "application/json");
    builder.body(Body::from(value.to_string())).expect("a response")
}

/// An answer with a status and nothing else to say.
pub fn text(status: u16, text: &str) -> Response<Body> {
    Response::builder().status(status).body(Body::from(text.to_owned())).expect("a response")
}

/// The body of another server's answer, passed on as it comes.
pub fn passed_on(body: reqwest::Response) -> Body {
    use futures::StreamExt;
    let chunks = body.bytes_stream().map(|chunk| Ok::<_, Infallible>(chunk.unwrap_or_default()));
    Body::from_stream(chunks)
}
