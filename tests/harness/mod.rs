//! The harness itself at work, without the proxy: what a test relies on is shown here.

mod corpus;
mod faults;
mod http_legacy;
mod http_modern;
mod launcher;
mod nested;
mod probing;
mod real_servers;
mod rmcp;
mod stdio;
