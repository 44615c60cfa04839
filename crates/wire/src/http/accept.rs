//! Accepts the connections of a listener. Each is served until its client closes it, sends no request for too long, or
//! the listener stops.

use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http::{Request, Response, Version};
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::connection_slots::{ConnectionSlot, ConnectionSlots, RunningBody};
use super::watched_stream::WatchedStream;
use super::woken_only::WokenOnly;
use crate::outbound::{OutboundBudget, OutboundConnection};
use proxy_base::process::descriptors;
use proxy_fiber::{ServingThreads, boxed_in_place};

/// How many connections there may be, and how long a client may take to send the head of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLimits {
    pub(super) connections: usize,
    /// For the first request on a connection. Whoever connects has something to say.
    pub(super) first_head: Duration,
    /// For each further request, with the silence before it.
    pub(super) next_head: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        ConnectionLimits {
            connections: descriptors::max_connections(),
            first_head: Duration::from_secs(30),
            next_head: Duration::from_secs(90),
        }
    }
}

/// Pause after `accept` failed, usually because the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// How often a connection that has to end is asked whether a request is still being answered.
const CLOSE_INTERVAL: Duration = Duration::from_secs(1);

/// Serves until `stop`, then lets running responses finish. The limits hold for clients that send the head of a request byte
/// by byte, or not at all: they must neither hold a connection forever nor keep others from connecting.
///
/// One task accepts for all threads. If each thread had a socket of its own (`SO_REUSEPORT`), a second proxy on the same port
/// would take a part of the clients instead of failing, and of few connections, one thread would often have most.
pub(super) async fn serve<R, B>(
    listener: TcpListener,
    limits: ConnectionLimits,
    outbound: OutboundBudget,
    threads: ServingThreads,
    stop: CancellationToken,
    respond: impl Fn(Request<Incoming>, Arc<OutboundConnection>) -> R + Clone + Send + Sync + 'static,
) where
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    // hyper would set a timer for each request; `ConnectionSlot::silent` needs one for each connection.
    builder.http1().header_read_timeout(None);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(limits.next_head);
    let builder = Arc::new(builder);
    let mut connections = JoinSet::new();
    let mut slots = ConnectionSlots::new(limits.connections);
    loop {
        let has_room = slots.has_room();
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            () = slots.request_ended(), if !has_room => continue,
            // Where all are busy, the next client waits until one has ended.
            accepted = listener.accept(), if has_room => match accepted {
                Ok((stream, _)) => stream,
                Err(error) if is_of_client(&error) => continue,
                Err(error) => {
                    tracing::error!(%error, "cannot accept connections");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        let (runtime, load) = threads.least_loaded();
        let stream = match moved_to(runtime, stream) {
            Ok(stream) => WatchedStream { stream, connection: outbound.connection() },
            Err(error) => {
                tracing::error!(%error, "cannot hand a connection over to its thread");
                continue;
            }
        };
        let slot = slots.add(load);
        let served = connection(Arc::clone(&builder), stream, slot, limits, stop.clone(), respond.clone());
        connections.spawn_on(served, runtime);
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The stream of a connection that another runtime will serve.
fn moved_to(runtime: &Handle, stream: TcpStream) -> io::Result<TcpStream> {
    if runtime.id() == Handle::current().id() {
        return Ok(stream);
    }
    let stream = stream.into_std()?;
    let _context = runtime.enter();
    TcpStream::from_std(stream)
}

/// Whether the client went away before its connection was accepted.
fn is_of_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionRefused | ConnectionAborted | ConnectionReset)
}

async fn connection<R, B>(
    builder: Arc<Builder<TokioExecutor>>,
    stream: WatchedStream,
    slot: Arc<ConnectionSlot>,
    limits: ConnectionLimits,
    stop: CancellationToken,
    respond: impl Fn(Request<Incoming>, Arc<OutboundConnection>) -> R + Send + Sync + 'static,
) where
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    // Without TCP_NODELAY a small event waits some 40 ms for the acknowledgment of the headers before it.
    if let Err(error) = stream.stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let outbound = Arc::clone(&stream.connection);
    if let Ok(address) = stream.stream.peer_addr() {
        outbound.set_peer(address.ip());
    }
    let its_slot = Arc::clone(&slot);
    let outlet = Arc::clone(&outbound);
    let service = service_fn(move |request: Request<Incoming>| {
        if request.version() == Version::HTTP_2 {
            outlet.set_multiplexed();
        }
        let running = its_slot.begin();
        // In a box, because hyper moves it several times.
        let response = WokenOnly::new(Box::into_pin(boxed_in_place(|| respond(request, Arc::clone(&outlet)))));
        response.map(move |response| Ok::<_, Infallible>(response.map(|body| RunningBody { body, _running: running })))
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // All of them are rare, and the connection is polled several times for each request.
    let must_end = pin!(async {
        tokio::select! {
            biased;
            () = slot.silent(limits.first_head, limits.next_head, &outbound) => ConnectionEnd::Unneeded,
            waiting = outbound.stalled() => ConnectionEnd::Stalled { waiting },
            () = slot.close.cancelled() => ConnectionEnd::Unneeded,
            () = stop.cancelled() => ConnectionEnd::Unneeded,
        }
    });
    let must_end = tokio::select! {
        // A request that arrived at the last moment is read before anybody says that it did not.
        biased;
        ended = connection.as_mut() => return report(ended),
        must_end = WokenOnly::new(must_end) => must_end,
    };
    let stalled = match must_end {
        ConnectionEnd::Stalled { waiting } => waiting,
        ConnectionEnd::Unneeded => {
            connection.as_mut().graceful_shutdown();
            // A request that arrived at the last moment is answered.
            let closing = async {
                loop {
                    match tokio::time::timeout(CLOSE_INTERVAL, connection.as_mut()).await {
                        Ok(ended) => return report(ended),
                        Err(_elapsed) if slot.is_idle() && outbound.waiting() == 0 => return,
                        Err(_elapsed) => {}
                    }
                }
            };
            tokio::select! {
                () = closing => return,
                waiting = outbound.stalled() => waiting,
            }
        }
    };
    tracing::info!(waiting = stalled, "closed a connection: the client has stopped reading");
}

/// Why a connection ends although its client has not closed it.
enum ConnectionEnd {
    /// No request came for too long, another client needs the place, or the listener stops.
    Unneeded,
    Stalled {
        waiting: usize,
    },
}

fn report<E: Display>(ended: Result<(), E>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a client connection failed");
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::http::reply_body::ReplyBody;
    use crate::outbound::{OutboundLimits, OutboundMessage};
    use proxy_model::Owner;

    #[tokio::test]
    async fn a_client_that_sends_no_request_loses_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, soon) = (CancellationToken::new(), Duration::from_millis(50));
        let limits = ConnectionLimits { connections: 10, first_head: soon, next_head: soon };
        let respond = |_, _| async { Response::new(Full::<Bytes>::from("here")) };
        let serving = tokio::spawn(serve(
            listener,
            limits,
            OutboundBudget::default(),
            ServingThreads::default(),
            stop.clone(),
            respond,
        ));
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

    #[tokio::test]
    async fn a_request_may_take_longer_than_the_next_one_may_be_awaited() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, next_head) = (CancellationToken::new(), Duration::from_millis(50));
        let limits = ConnectionLimits { next_head, ..ConnectionLimits::default() };
        let respond = move |_, _| async move {
            tokio::time::sleep(next_head * 5).await;
            Response::new(Full::<Bytes>::from("here"))
        };
        let serving = tokio::spawn(serve(
            listener,
            limits,
            OutboundBudget::default(),
            ServingThreads::default(),
            stop.clone(),
            respond,
        ));
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut received = String::new();
        stream.read_to_string(&mut received).await.unwrap();
        assert!(received.ends_with("here"), "{received}");
        stop.cancel();
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_loses_its_connection_and_a_slow_one_does_not() {
        const LENGTH: usize = 32 << 20;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stall) = (CancellationToken::new(), Duration::from_secs(2));
        let outbound = OutboundBudget::new(OutboundLimits { stall, ..OutboundLimits::default() });
        let respond = |_, connection: Arc<OutboundConnection>| async move {
            let reservation = connection.outlet(Owner::Everybody).try_reserve(LENGTH).unwrap();
            let message = OutboundMessage::new(vec![b'x'; LENGTH], reservation);
            Response::new(ReplyBody::text(message.into_bytes(), connection))
        };
        // What the client has not taken counts as a request that is being answered.
        let limits = ConnectionLimits { next_head: stall / 8, ..ConnectionLimits::default() };
        let serving = tokio::spawn(serve(listener, limits, outbound, ServingThreads::default(), stop.clone(), respond));
        let request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        for (pause, pauses, all) in [(stall / 8, 6, true), (stall * 3, 1, false)] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(request).await.unwrap();
            // The kernel keeps some megabytes, but not all.
            let (mut received, mut part) = (0, vec![0; LENGTH / 16]);
            for _ in 0..pauses {
                tokio::time::sleep(pause).await;
                received += stream.read(&mut part).await.unwrap_or_default();
            }
            while let Ok(count @ 1..) = stream.read(&mut part).await {
                received += count;
            }
            assert_eq!(received > LENGTH, all, "{received} bytes");
        }
        stop.cancel();
        serving.await.unwrap();
    }
}
