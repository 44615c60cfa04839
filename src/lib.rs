//! A programmable MCP proxy: clients connect to one endpoint, and a Starlark script decides what each of them sees of
//! the servers behind it. This crate is the program; its parts are in `crates/`.

// What a user does with a proxy besides MCP: in the same process, or over the control socket.
pub mod admin;
// The page of `proxy console`: a client of the control socket.
pub mod console;
// One file per subcommand; the only module that prints.
pub mod cli;
