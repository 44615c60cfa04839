//! A programmable MCP proxy: clients connect to one endpoint, and a Starlark script decides what each of them sees of
//! the servers behind it. This is the program; what it is made of lies in `crates/`.

// What the user of a proxy does with it beside MCP, in its process or over its control socket.
pub mod admin;
// The page of `proxy console`: a client of the control socket.
pub mod console;
// One file per subcommand; the only module that prints.
pub mod cli;
