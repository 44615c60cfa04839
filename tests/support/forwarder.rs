//! A TCP forwarder in front of a server, which counts the connections it accepts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};

pub struct Forwarder {
    pub url: String,
    accepted: Arc<AtomicUsize>,
}

impl Forwarder {
    /// A forwarder to the server at this URL, under a URL of its own with the same path.
    pub async fn start(url: &str) -> Self {
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("a plain http address: {url}"));
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let accepted = Arc::new(AtomicUsize::new(0));
        tokio::spawn(forward(listener, host.to_owned(), Arc::clone(&accepted)));
        Self { url: format!("http://{address}/{path}"), accepted }
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

async fn forward(listener: TcpListener, host: String, accepted: Arc<AtomicUsize>) {
    while let Ok((mut near, _)) = listener.accept().await {
        accepted.fetch_add(1, Ordering::SeqCst);
        let host = host.clone();
        tokio::spawn(async move {
            let Ok(mut far) = TcpStream::connect(host).await else { return };
            let _ = (near.set_nodelay(true), far.set_nodelay(true));
            let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
        });
    }
}
