//! Takes an HTTP/1.1 body apart: chunked, of known length, or until the connection ends.

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpStream;

#[derive(Debug)]
pub enum Framing {
    Chunked,
    Length(usize),
    UntilEnd,
}

#[derive(Debug)]
pub struct HttpBody {
    stream: BufReader<TcpStream>,
    framing: Framing,
}

impl HttpBody {
    pub fn new(stream: BufReader<TcpStream>, framing: Framing) -> Self {
        Self { stream, framing }
    }

    /// The next piece; `None` at the end. A connection that breaks in the middle is an end, too.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        match self.framing {
            Framing::Length(0) => None,
            Framing::Length(length) => {
                let mut piece = vec![0; length.min(64 * 1024)];
                let count = self.stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
                self.framing = Framing::Length(length - count);
                piece.truncate(count);
                Some(piece)
            }
            Framing::UntilEnd => {
                let mut piece = vec![0; 64 * 1024];
                let count = self.stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
                piece.truncate(count);
                Some(piece)
            }
            Framing::Chunked => {
                let mut size = String::new();
                self.stream.read_line(&mut size).await.ok()?;
                let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
                let mut piece = vec![0; size + 2];
                self.stream.read_exact(&mut piece).await.ok()?;
                piece.truncate(size);
                Some(piece)
            }
        }
    }
}
