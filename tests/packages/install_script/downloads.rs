//! A server with a release, whole or damaged.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use bytes::Bytes;
use tokio::net::TcpListener;

use crate::packages::build::{VERSION, built};

type Files = HashMap<String, Bytes>;

pub(super) struct Downloads {
    pub(super) url: String,
}

impl Downloads {
    pub(super) async fn of_release() -> Self {
        Self::serve(release().await).await
    }

    pub(super) async fn with_a_changed_byte() -> Self {
        Self::with_archives(|archive| {
            let mut changed = archive.to_vec();
            let middle = changed.len() / 2;
            changed[middle] ^= 1;
            changed.into()
        })
        .await
    }

    pub(super) async fn with_half_of_the_archive() -> Self {
        Self::with_archives(|archive| archive.slice(..archive.len() / 2)).await
    }

    async fn with_archives(change: fn(Bytes) -> Bytes) -> Self {
        let files = release().await.into_iter();
        let is_archive = |name: &str| name.ends_with(".tar.gz");
        let changed = files.map(|(name, data)| if is_archive(&name) { (name, change(data)) } else { (name, data) });
        Self::serve(changed.collect()).await
    }

    async fn serve(files: Files) -> Self {
        let file = async |State(files): State<Arc<Files>>, Path(name): Path<String>| {
            files.get(&name).cloned().ok_or(StatusCode::NOT_FOUND)
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let router = Router::new().route("/{file}", get(file)).with_state(Arc::new(files));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Downloads { url }
    }
}

/// What the script downloads.
async fn release() -> Files {
    let dist = built().await;
    let archives =
        ["x86_64", "aarch64"].map(|machine| format!("starlark-mcp-proxy-{VERSION}-{machine}-linux-static.tar.gz"));
    let names = archives.into_iter().chain(["SHA256SUMS".to_owned()]);
    names.map(|name| (name.clone(), std::fs::read(dist.join(name)).expect("it is made").into())).collect()
}
