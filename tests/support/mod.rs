//! What the tests are written with: programs to talk to, clients to talk with, and waits that explain themselves.

pub mod config;
pub mod corpus;
pub mod examples;
pub mod http_body;
pub mod http_client;
pub mod http_request;
pub mod message;
pub mod modern;
pub mod patience;
pub mod program;
pub mod programs;
pub mod proxy;
pub mod real_servers;
pub mod rmcp_client;
pub mod sse;
pub mod stderr_log;
pub mod stdio_client;
pub mod temp_dir;
