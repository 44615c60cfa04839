//! The proxy in the test's own process: on duplex streams in place of standard input and output, or on a port. For tests
//! of the protocol, which need neither its command line nor its log. The servers behind it are processes as always.

use std::path::PathBuf;
use std::slice;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use proxy_engine::gateway::{Gateway, GatewayOptions, Reread};
use proxy_fiber::ServingThreads;
use proxy_identity::bearer::Resource;
use proxy_mcp_client::StartPolicy;
use proxy_server::{Authenticator, HttpFront, Server, serve_stdio};
use proxy_wire::http::Listener;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::config::Config;
use super::program::Program;
use super::proxy;
pub use super::proxy::{HttpProxy, StdioProxy};
use super::stdio_client::StdioClient;

/// The bytes that may be on their way to the proxy or from it before a writer has to wait, as in a pipe.
const PIPE_BYTES: usize = 64 * 1024;

/// How to start it, as [`proxy::Proxy`] starts the program.
pub struct Proxy(proxy::Proxy);

impl Proxy {
    pub fn new(config: &Config) -> Self {
        Self(proxy::Proxy::new(config))
    }

    /// Another file beside the config, such as a script.
    pub fn file(self, name: &str, text: &str) -> Self {
        Self(self.0.file(name, text))
    }

    /// Serves on duplex streams.
    pub fn stdio(self) -> StdioProxy {
        // One for each direction, so that each can be closed by itself.
        let (stdin, input) = tokio::io::duplex(PIPE_BYTES);
        let (output, stdout) = tokio::io::duplex(PIPE_BYTES);
        let server = ServerThread::start(self.config(), self.options(true), async move |running, _| {
            let principal = Authenticator::local_user(&[]);
            serve_stdio(running.server, principal, input, output, running.max_body_bytes).await;
        });
        StdioProxy { client: StdioClient::on_streams(Program::in_process(server), stdin, stdout), world: self.0 }
    }

    /// Serves on a free port.
    pub async fn http(self) -> HttpProxy {
        let (sender, url) = oneshot::channel();
        let server = ServerThread::start(self.config(), self.options(false), async move |running, stop| {
            let serve = running.config.serve;
            let bound =
                Listener::bind("127.0.0.1:0", &serve.path, &serve.allowed_origins, running.max_body_bytes).await;
            let listener = bound.expect("a port is free");
            let address = listener.address().expect("the listener is bound");
            let _ = sender.send(format!("http://{address}{}", serve.path));
            let front = HttpFront::new(running.server, &serve, Resource::new(&serve, address));
            listener.serve(front, ServingThreads::default(), stop).await;
        });
        let url = url.await.expect("the proxy listens");
        HttpProxy { program: Program::in_process(server), url, world: self.0 }
    }

    fn config(&self) -> Reread {
        let file = self.0.directory.path().join("proxy.yaml");
        Arc::new(move || Ok(proxy_config::load_files(slice::from_ref(&file), &|_| None)?.0))
    }

    fn options(&self, sole_client: bool) -> GatewayOptions {
        GatewayOptions {
            cache_folder: Some(self.0.directory.directory("cache")),
            state_folder: Some(self.0.directory.directory("state")),
            executable: PathBuf::from(env!("CARGO_BIN_EXE_proxy")),
            variables: std::env::vars().collect(),
            first_user: None,
            bundled: false,
            sole_client,
            client: None,
            search_by_meaning: false,
            start: StartPolicy::All,
            ignores_lock: false,
        }
    }
}

struct Running {
    config: proxy_config::Config,
    server: Server,
    max_body_bytes: usize,
}

/// A proxy on a runtime of its own, as in its own process. Dropped, it ends with its servers, before the folder of the test
/// goes.
pub struct ServerThread {
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    fn start<F: Future<Output = ()>>(
        config: Reread,
        options: GatewayOptions,
        serve: impl FnOnce(Running, CancellationToken) -> F + Send + 'static,
    ) -> Self {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let read = config().unwrap_or_else(|problems| panic!("the config is wrong: {problems:?}"));
                let started = Gateway::start(&read, &options);
                let gateway = Arc::new(started.unwrap_or_else(|problems| panic!("the proxy starts: {problems:?}")));
                tokio::spawn(Arc::clone(&gateway).follow_files(read.clone(), config, Box::new(|_| {})));
                let server =
                    Server::new(Arc::clone(&gateway), &read.serve, ServingThreads::default()).expect("random numbers");
                let max_body_bytes = usize::try_from(read.serve.max_body_bytes).unwrap_or(usize::MAX);
                tokio::select! {
                    () = serve(Running { config: read, server, max_body_bytes }, stopped.clone()) => {}
                    () = stopped.cancelled() => {}
                }
                gateway.stop().await;
            });
            // What still blocks, such as a script, is not waited for.
            runtime.shutdown_timeout(Duration::from_secs(1));
        });
        ServerThread { stop, thread: Some(thread) }
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // It may have panicked, and has said so then.
            let _ = thread.join();
        }
    }
}

impl From<Proxy> for StdioProxy {
    fn from(proxy: Proxy) -> Self {
        proxy.stdio()
    }
}
