//! Sessions that nobody uses: opened, looked around in once, and left.

use crate::client::Client;

/// Opens so many at the proxy that listens there.
pub async fn open(address: &str, count: usize) {
    let mut client = Client::connect(address).await;
    for _ in 0..count {
        client.open_session().await;
    }
}
