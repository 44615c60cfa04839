//! A tool before it is known which client gets it.

use proxy_model::Definition;

/// A published tool, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct DialectTool<'a> {
    pub definition: &'a Definition,
    /// The server; empty for a tool that a script made.
    pub server: &'a str,
    /// The server's own name for it; for a tool that a script made, the published name.
    pub original: &'a str,
    /// If its description lists other tools: the description without that list, for clients that would not see all of it. The
    /// last paragraph tells how to find the tools.
    pub without_list: Option<&'a str>,
}
