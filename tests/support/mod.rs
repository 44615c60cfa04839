//! What the tests are written with: programs to talk to, clients to talk with, and waits that explain themselves.
//!
//! A test in five lines:
//!
//! ```ignore
//! let config = Config::new().server("fake", &fake_backend(["--era", "legacy", "--only", "echo"]));
//! let mut proxy = Proxy::new(&config).stdio();
//! proxy.client.initialize("2025-11-25").await.result();
//! let echoed = proxy.client.call("echo", r#"{"n":1.10}"#).await;
//! assert_eq!(echoed.structured(), r#"{"n":1.10}"#);
//! ```
//!
//! A test of the protocol alone takes `in_process::Proxy`, which costs less and is used in the same way.
//!
//! `legacy` is the session-based era and `modern` the stateless one: in `--era`, which says what the fake backend speaks, and
//! in names such as `client.modern(...)`, which sends a stateless request.
//!
//! Over HTTP: `let proxy = Proxy::new(&config).http().await; let mut client = proxy.client();`. The fake backend's flags
//! are in `fake_backend/options.rs`, its tools in `fake_backend/catalog.rs`. Every wait ends after a minute (longer for
//! servers in other languages) and then shows what the other side wrote to stderr; what a backend received is asked with
//! its tool `seen`.
//!
//! Over HTTP, a slow first call fixes the status: after 300 ms the proxy opens an event stream with status 200, whatever the
//! outcome is then. A call that starts a process is slow. A test of a status makes one such call before, as in
//! `error_codes.rs`.

// The proxy, its config and its folder.
pub mod config;
pub mod proxy;
pub mod in_process;
pub mod temp_dir;

// Programs: which ones there are, how they run and end, and what they use.
pub mod examples;
pub mod programs;
pub mod program;
pub mod finished;
pub mod terminal;
pub mod stderr_log;
pub mod measure;
pub mod skipped_tests;

// Clients of the proxy.
pub mod stdio_client;
pub mod http_client;
pub mod follower;
pub mod rmcp_client;
pub mod rmcp_person;
pub mod lsp_client;

// Messages: what clients send, and how replies are read.
pub mod message;
pub mod modern;
pub mod corpus;
pub mod http_request;
pub mod http_body;
pub mod sse;
pub mod yaml;

// Servers behind the proxy. The usual one is the program `fake_backend`.
pub mod listener;
pub mod forwarder;
pub mod personal_server;
pub mod protected_server;
pub mod real_servers;
pub mod office_servers;

// Tokens and log-ins.
pub mod authorization_server;
pub mod issuer;
pub mod token_endpoint;
pub mod log_ins;
pub mod browser;

// Other services around the proxy.
pub mod balancer;
pub mod envoy;
pub mod haproxy;
pub mod nginx;
pub mod otlp_receiver;
pub mod postgres;
pub mod prometheus;
pub mod redis;
pub mod redis_cluster;

// Waiting and chance.
pub mod patience;
pub mod random;
