//! The running proxy: a config becomes servers, extensions and surfaces, and every call goes through one place. It knows what
//! is published and who may use it, and no client's protocol: `server` speaks that.

pub mod calls;
pub mod extension;
pub mod gateway;
pub mod surface;
