use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
const ENDLESS: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n";

async fn server() -> (TcpListener, Arc<LocalServer>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
    (listener, LocalServer::new(&uri))
}

/// Reads a request and writes a response.
async fn answer(stream: &mut TcpStream, text: &str) {
    let mut request = [0; 1024];
    assert!(stream.read(&mut request).await.unwrap() > 0, "the connection was closed");
    stream.write_all(text.as_bytes()).await.unwrap();
}

async fn send(server: &Arc<LocalServer>, body: impl Into<Bytes>) -> Result<LocalResponse, HttpError> {
    server.send(Method::POST, Uri::from_static("/mcp"), HeaderMap::new(), body.into()).await
}

async fn ask(server: &Arc<LocalServer>) -> Result<String, HttpError> {
    let mut response = send(server, "{}").await?;
    let mut text = String::new();
    while let Some(chunk) = response.chunk().await? {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    Ok(text)
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another() {
    let (listener, server) = server().await;
    let other_side = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        for text in [WHOLE, CHUNKED, WHOLE] {
            answer(&mut stream, text).await;
        }
    };
    let asking = async {
        for _ in 0..3 {
            assert_eq!(ask(&server).await.unwrap(), "ok");
        }
    };
    tokio::join!(other_side, asking);
}

#[tokio::test]
async fn a_body_that_has_arrived_need_not_be_read_for_its_connection_to_be_reused() {
    let (listener, server) = server().await;
    let other_side = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        for text in ["HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", WHOLE, CHUNKED, WHOLE] {
            answer(&mut stream, text).await;
        }
    };
    let asking = async {
        for _ in 0..2 {
            drop(send(&server, "{}").await.unwrap());
        }
        let mut response = send(&server, "{}").await.unwrap();
        assert_eq!(response.chunk().await.unwrap().unwrap(), "ok");
        drop(response);
        assert_eq!(ask(&server).await.unwrap(), "ok");
    };
    tokio::join!(other_side, asking);
}

#[tokio::test]
async fn a_request_is_sent_as_http_1_1_with_its_length() {
    let (listener, server) = server().await;
    let other_side = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        let length = stream.read(&mut request).await.unwrap();
        stream.write_all(WHOLE.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    };
    let headers: HeaderMap = [("host", "here"), ("x", "1")]
        .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
        .into_iter()
        .collect();
    let target = Uri::from_static("/mcp?a=b");
    let (sent, response) =
        tokio::join!(other_side, server.send(Method::POST, target, headers, Bytes::from_static(b"{}")));
    response.unwrap();
    assert_eq!(sent, "POST /mcp?a=b HTTP/1.1\r\nhost: here\r\nx: 1\r\ncontent-length: 2\r\n\r\n{}");
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_costs_no_request() {
    let (listener, server) = server().await;
    for _ in 0..3 {
        let other_side = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream, WHOLE).await;
        };
        let (asked, ()) = tokio::join!(ask(&server), other_side);
        assert_eq!(asked.unwrap(), "ok");
    }
}

#[tokio::test]
async fn a_response_that_is_not_read_to_its_end_closes_its_connection() {
    let (listener, server) = server().await;
    let other_side = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        answer(&mut stream, ENDLESS).await;
        stream
    };
    let asking = async {
        let mut response = send(&server, "{}").await.unwrap();
        assert_eq!(response.chunk().await.unwrap().unwrap(), "ok");
    };
    let (mut stream, ()) = tokio::join!(other_side, asking);
    assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0);
    assert!(server.take_idle().is_none());
}

#[tokio::test]
async fn a_response_that_breaks_off_is_an_error() {
    let (listener, server) = server().await;
    for text in [ENDLESS, "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok", "HTTP/1.1 200", ""] {
        let other_side = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream, text).await;
        };
        let (asked, ()) = tokio::join!(ask(&server), other_side);
        assert!(matches!(asked, Err(HttpError::Broken(_))), "{text:?}: {asked:?}");
    }
    drop(listener);
    let refused = ask(&server).await;
    assert!(matches!(refused, Err(HttpError::Connect(_))), "{refused:?}");
}

#[tokio::test]
async fn an_invalid_response_is_an_error() {
    let (listener, server) = server().await;
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(65 << 10));
    for text in [
        "nonsense\r\n\r\n",
        "HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxy",
        &endless,
    ] {
        let other_side = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream, text).await;
            stream
        };
        let (asked, _stream) = tokio::join!(ask(&server), other_side);
        let Err(HttpError::Broken(reason)) = asked else { panic!("{text:.40}: {asked:?}") };
        assert!(reason.starts_with("invalid HTTP response: "), "{text:.40}: {reason}");
    }
}

#[tokio::test]
async fn a_response_may_come_before_all_of_a_long_request_was_read() {
    let (listener, server) = server().await;
    let other_side = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        answer(&mut stream, "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno").await;
        stream
    };
    let asking = async {
        let mut response = send(&server, vec![b'x'; 64 << 20]).await.unwrap();
        (response.status(), response.chunk().await.unwrap().unwrap())
    };
    let (_stream, (status, body)) = tokio::join!(other_side, asking);
    assert_eq!((status, &body[..]), (StatusCode::PAYLOAD_TOO_LARGE, &b"no"[..]));
    assert!(server.take_idle().is_none(), "the rest of the request is still on its way");
}

#[tokio::test]
async fn a_response_arrives_although_the_server_closed_before_it_had_read_the_request() {
    let (listener, server) = server().await;
    let other_side = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        // Closing with unread data resets the connection.
        answer(&mut stream, "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno").await;
    };
    let asking = async {
        let mut response = send(&server, vec![b'x'; 64 << 20]).await.unwrap();
        (response.status(), response.chunk().await.unwrap().unwrap())
    };
    let ((), (status, body)) = tokio::join!(other_side, asking);
    assert_eq!((status, &body[..]), (StatusCode::NOT_FOUND, &b"no"[..]));
    assert!(server.take_idle().is_none());
}

#[tokio::test]
async fn a_connection_with_an_unsolicited_response_is_not_reused() {
    let (listener, server) = server().await;
    let other_side = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        answer(&mut stream, &format!("{WHOLE}{WHOLE}")).await;
        let (mut second, _) = listener.accept().await.unwrap();
        answer(&mut second, CHUNKED).await;
    };
    let asking = async {
        assert_eq!(ask(&server).await.unwrap(), "ok");
        assert_eq!(ask(&server).await.unwrap(), "ok");
    };
    tokio::join!(other_side, asking);
}

#[tokio::test]
async fn connections_that_were_idle_too_long_are_closed() {
    let (listener, server) = server().await;
    let other_side = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        answer(&mut stream, WHOLE).await;
        stream
    };
    let (_, mut stream) = tokio::join!(ask(&server), other_side);
    assert!(server.idle_of(0).swept);
    assert!(server.close_expired(0, IDLE_TIMEOUT), "it has just been used");
    assert!(!server.close_expired(0, Duration::ZERO), "nothing is left");
    assert_eq!(stream.read(&mut [0; 16]).await.unwrap(), 0, "closed from the other side");
}
