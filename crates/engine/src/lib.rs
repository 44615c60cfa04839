//! The running proxy. Turns a config into servers, extensions and surfaces, and sends every call through one dispatcher. It
//! knows what is published and who may use it; `server` handles the client protocol.

pub mod calls;
pub mod extension;
pub mod gateway;
pub mod results;
pub mod surface;

#[cfg(test)]
mod test_world;
