//! The first lines of an HTTP request.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The maximum size of a request head.
const MAX_HEAD: usize = 32 << 10;

/// The relevant parts of a request head.
pub(super) struct RequestHead<'a> {
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) hosts: Vec<&'a str>,
}

impl<'a> RequestHead<'a> {
    pub(super) fn parse(head: &'a str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return None;
        }
        let headers = lines.filter_map(|line| line.split_once(':'));
        let hosts = headers.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, value)| value.trim());
        Some(RequestHead { method, target, hosts: hosts.collect() })
    }
}

/// Reads up to the empty line. Browsers send only ASCII.
pub(super) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut head = Vec::new();
    let mut part = [0; 4096];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut part).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count if head.len() + count > MAX_HEAD => {
                return Err(io::Error::other(format!("a head of {} bytes", head.len() + count)));
            }
            count => head.extend_from_slice(&part[..count]),
        }
    }
    String::from_utf8(head).map_err(io::Error::other)
}
