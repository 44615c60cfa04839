//! The connections of a listener: each is served until its client leaves it, keeps silent for too long, or the listener
//! ends.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Before another try where there is no room for one more connection.
const FULL: Duration = Duration::from_secs(1);

/// Serves until `stop`, then lets running replies finish. A client may take `head_time` to say what it wants, also
/// between two requests: whoever says it byte by byte, or nothing at all, must not hold a connection for ever.
pub(super) async fn serve<R>(
    listener: TcpListener,
    head_time: Duration,
    stop: CancellationToken,
    reply: impl Fn(Request) -> R + Clone + Send + Sync + 'static,
) where
    R: Future<Output = Response> + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head_time);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(head_time);
    let (builder, mut open) = (Arc::new(builder), JoinSet::new());
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = open.join_next() => continue,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // It left before anybody looked.
                Err(error) if is_its_own(&error) => continue,
                Err(error) => {
                    tracing::error!(%error, "no connection can be accepted");
                    tokio::time::sleep(FULL).await;
                    continue;
                }
            },
        };
        open.spawn(connection(Arc::clone(&builder), stream, head_time, stop.clone(), reply.clone()));
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

fn is_its_own(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionRefused | ConnectionAborted | ConnectionReset)
}

async fn connection<R>(
    builder: Arc<Builder<TokioExecutor>>,
    stream: TcpStream,
    head_time: Duration,
    stop: CancellationToken,
    reply: impl Fn(Request) -> R + Send + Sync + 'static,
) where
    R: Future<Output = Response> + Send + 'static,
{
    // Without TCP_NODELAY a small event waits some 40 ms for the acknowledgment of the headers before it.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY");
    }
    let heard = Arc::new(AtomicBool::new(false));
    let spoke = Arc::clone(&heard);
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        spoke.store(true, Ordering::Relaxed);
        let replied = reply(request.map(Body::new));
        async move { Ok::<_, Infallible>(replied.await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // Which version it speaks is found out before there is anything that has a limit for its head.
    let silence = async {
        tokio::time::sleep(head_time).await;
        if heard.load(Ordering::Relaxed) {
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
        tracing::debug!(%error, "a connection broke");
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn whoever_does_not_say_what_it_wants_loses_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, head_time) = (CancellationToken::new(), Duration::from_millis(50));
        let reply = |_: Request| async { Response::new(Body::from("here")) };
        let serving = tokio::spawn(serve(listener, head_time, stop.clone(), reply));
        for (said, answered) in [
            ("", false),
            ("PR", false),
            ("POST /mcp HTTP/1.1\r\nhost: a\r\nx-slow: ", false),
            ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", true),
        ] {
            let mut received = String::new();
            loop {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(said.as_bytes()).await.unwrap();
                // The stream ends because the server closes it: the client sends nothing more.
                stream.read_to_string(&mut received).await.unwrap();
                // On a busy machine a whole request may arrive after `head_time`: then the client sends it again.
                if !received.is_empty() || !answered {
                    break;
                }
            }
            assert_eq!(received.ends_with("here"), answered, "{said:?}: {received}");
        }
        stop.cancel();
        serving.await.unwrap();
    }
}
