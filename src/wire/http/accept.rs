//! Accepts the connections of a listener. Each is served until its client closes it, sends no request for too long, or
//! the listener stops.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Pause after `accept` failed, usually because the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// The other end of the connection of a request, among its extensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerAddress(pub(super) IpAddr);

/// Serves until `stop`, then lets running responses finish. `head_timeout` limits the time until the head of the next
/// request is complete: a client that sends it byte by byte, or not at all, must not hold a connection forever.
pub(super) async fn serve<R, B>(
    listener: TcpListener,
    head_timeout: Duration,
    stop: CancellationToken,
    respond: impl Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
) where
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head_timeout);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(head_timeout);
    let (builder, mut connections) = (Arc::new(builder), JoinSet::new());
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) if is_of_client(&error) => continue,
                Err(error) => {
                    tracing::error!(%error, "cannot accept connections");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        connections.spawn(connection(Arc::clone(&builder), stream, head_timeout, stop.clone(), respond.clone()));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Whether the client went away before its connection was accepted.
fn is_of_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionRefused | ConnectionAborted | ConnectionReset)
}

async fn connection<R, B>(
    builder: Arc<Builder<TokioExecutor>>,
    stream: TcpStream,
    head_timeout: Duration,
    stop: CancellationToken,
    respond: impl Fn(Request<Incoming>) -> R + Send + Sync + 'static,
) where
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    // Without TCP_NODELAY a small event waits some 40 ms for the acknowledgment of the headers before it.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let peer = stream.peer_addr().ok().map(|address| PeerAddress(address.ip()));
    let requested = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&requested);
    let service = service_fn(move |mut request: Request<Incoming>| {
        peer.and_then(|peer| request.extensions_mut().insert(peer));
        seen.store(true, Ordering::Relaxed);
        let response = respond(request);
        async move { Ok::<_, Infallible>(response.await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // hyper's own timeout begins once the first bytes have shown which HTTP version the client speaks.
    let silence = async {
        tokio::time::sleep(head_timeout).await;
        if requested.load(Ordering::Relaxed) {
            std::future::pending().await
        }
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = silence => return,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection of a client failed");
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_client_that_sends_no_request_loses_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, head_timeout) = (CancellationToken::new(), Duration::from_millis(50));
        let respond = |_| async { Response::new(Full::<Bytes>::from("here")) };
        let serving = tokio::spawn(serve(listener, head_timeout, stop.clone(), respond));
        for (sent, answered) in [
            ("", false),
            ("PR", false),
            ("POST /mcp HTTP/1.1\r\nhost: a\r\nx-slow: ", false),
            ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", true),
        ] {
            let mut received = String::new();
            loop {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(sent.as_bytes()).await.unwrap();
                // The stream ends because the server closes it: the client sends nothing more.
                stream.read_to_string(&mut received).await.unwrap();
                // On a busy machine a whole request may arrive after `head_time`: then the client sends it again.
                if !received.is_empty() || !answered {
                    break;
                }
            }
            assert_eq!(received.ends_with("here"), answered, "{sent:?}: {received}");
        }
        stop.cancel();
        serving.await.unwrap();
    }
}
