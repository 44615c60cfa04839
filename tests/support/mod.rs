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
//! Over HTTP: `let proxy = Proxy::new(&config).http().await; let mut client = proxy.client();`. The fake backend's flags
//! are in `fake_backend/options.rs`, its tools in `fake_backend/catalog.rs`. Every wait ends after ten seconds
//! (`patiently()`: a minute, for servers in other languages) and then shows what the other side wrote to
//! stderr; what a backend received is asked with its tool `seen`.

pub mod authorization_server;
pub mod config;
pub mod corpus;
pub mod examples;
pub mod finished;
pub mod follower;
pub mod forwarder;
pub mod http_body;
pub mod http_client;
pub mod http_request;
pub mod issuer;
pub mod listener;
pub mod log_ins;
pub mod lsp_client;
pub mod measure;
pub mod message;
pub mod modern;
pub mod otlp_receiver;
pub mod patience;
pub mod personal_server;
pub mod postgres;
pub mod program;
pub mod programs;
pub mod protected_server;
pub mod prometheus;
pub mod proxy;
pub mod random;
pub mod real_servers;
pub mod redis;
pub mod rmcp_client;
pub mod rmcp_person;
pub mod sse;
pub mod stderr_log;
pub mod stdio_client;
pub mod temp_dir;
pub mod terminal;
pub mod token_endpoint;
