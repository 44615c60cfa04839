//! A programmable MCP proxy: clients connect to one endpoint, and a Starlark script decides what each of them sees of
//! the servers behind it.
//!
//! The modules, lowest layer first. A module uses lower layers only, and modules of one layer do not use each other.

// Layer 0

// Regular expressions whose matching has a bound.
pub mod bounded_regex;

// Layer 1

// Public, private and reserved IP addresses.
pub mod address;
// Exponential backoff.
pub mod backoff;
// The local socket of a running proxy: where it is, and who may use it.
pub mod control;
// Errors for people: message, location in a file, notes, hint; rendered here only.
pub mod diagnostic;
// Text of others, made harmless where people read it.
pub mod foreign_text;
// Raw values, edits of one member, canonical form, digest, schemas.
pub mod json;
// The global allocator, and what each fiber has allocated.
pub mod memory;
// Child processes: groups, environment, watchdog; files replaced atomically.
pub mod process;
// Encrypted handles: cursors, tickets, task ids.
pub mod seal;
// Notices when files change.
pub mod watch;

// Layer 2

// Handlers as fibers on a few worker threads, and everything else that schedules them.
pub mod fiber;
// Plain data: definitions, backends, results, principals, owners, secrets.
pub mod model;

// Layer 3

// Rate limits, journals and script state, in memory or in Redis.
pub mod store;
// I/O for local tools: commands, requests, databases, files; within declared permissions.
pub mod host_io;

// Layer 4

// MCP on the wire: messages, stdio, HTTP, event streams, revisions, headers.
pub mod wire;
// The Starlark engine: load, evaluate, limit, convert, journal. Knows nothing of MCP.
pub mod script;
// Files and environment to a validated Config.
pub mod config;
// Tools as typed functions: TypeScript, Starlark, JSON Schema.
pub mod typings;

// Layer 5

// Who calls: the tokens that clients show, and the keys of their issuers.
pub mod bearer;
// The servers that the proxy calls: one supervised handle each, both eras behind one kind of call.
pub mod backend;
// Cedar policies: who may use what.
pub mod cedar;
// Logging in to servers: OAuth as a client, and where log-ins are kept.
pub mod oauth;
// Code mode: scripts written by a model, each in a process of its own.
pub mod sandbox;
// The index over tools: by their words and by their meaning.
pub mod search;
// What is counted and recorded of every request.
pub mod telemetry;

// Layer 6

// The functions of the script language, in folders by purpose, in one list (`globals.rs`).
pub mod builtins;

// Layer 7

// Local tools in Starlark; a kind of backend.
pub mod extension;
// What one run of the session script publishes.
pub mod surface;

// Layer 8

// A call of a published item: RequestContext, `on_request`, handlers, dispatch.
pub mod calls;

// Layer 9

// A Config into a running proxy, and its reloads.
pub mod gateway;

// Layer 10

// The MCP server that clients connect to.
pub mod server;
// Tools for script authors: lints, checks, tests, backtests, language server, prompt.
pub mod author;

// Layer 11

// What the user of a proxy does with it beside MCP, in its process or over its control socket.
pub mod admin;

// Layer 12

// The page of `proxy console`: a client of the control socket.
pub mod console;

// Layer 13

// One file per subcommand; the only module that prints.
pub mod cli;

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;
