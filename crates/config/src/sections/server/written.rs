//! A server as its entry is written: the same, whether the values of credentials and commands have been read or not. Commands
//! that start nothing find what is known of a server by it.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::{ServerConfig, TransportConfig};
use proxy_model::Secret;

impl ServerConfig {
    /// The transport with the sources of late values instead of the values.
    pub fn written_transport(&self) -> Cow<'_, TransportConfig> {
        if self.late_values.is_empty() {
            return Cow::Borrowed(&self.transport);
        }
        let mut transport = self.transport.clone();
        match &mut transport {
            TransportConfig::Stdio { command, args, env, .. } => {
                self.write_text(command, "command");
                for (index, argument) in args.iter_mut().enumerate() {
                    self.write_text(argument, &format!("args[{index}]"));
                }
                self.write_values(env, "env");
            }
            TransportConfig::Http { url, headers, .. } => {
                self.write_text(url, "url");
                self.write_values(headers, "headers");
            }
        }
        Cow::Owned(transport)
    }

    fn write_values(&self, values: &mut IndexMap<String, Secret>, section: &str) {
        for (name, value) in values {
            if let Some(written) = self.written(&format!("{section}.{name}")) {
                *value = written.clone();
            }
        }
    }

    fn write_text(&self, text: &mut String, key: &str) {
        if let Some(written) = self.written(key) {
            written.reveal().clone_into(text);
        }
    }

    fn written(&self, key: &str) -> Option<&Secret> {
        self.late_values.iter().find(|late| late.key == key).map(|late| &late.written)
    }
}
