//! Writes a lock file.

use std::collections::BTreeMap;

use serde_json::Value;

use super::file::{LockFile, LockedDefinition, LockedInfo, LockedItem, LockedServer};
use super::names::{KINDS, item_member};
use super::pretty::{new_line, pretty};
use super::profiles::profile_name;
use crate::ClientProfile;
use proxy_json::{push_quoted, raw};

/// The version of the format. A newer proxy writes a higher one.
pub(super) const VERSION: u64 = 1;

impl LockFile {
    /// The text of the file: one member per line, so that a comparison by `git diff` shows the words that changed.
    pub fn to_text(&self) -> String {
        let mut object = ObjectText::open(0);
        object.member("version", &VERSION.to_string());
        let mut servers = ObjectText::open(1);
        for (name, server) in &self.servers {
            servers.member(name, &server_text(server, 2));
        }
        object.member("servers", &servers.close());
        let mut text = object.close();
        text.push('\n');
        text
    }
}

fn server_text(server: &LockedServer, depth: usize) -> String {
    let mut object = ObjectText::open(depth);
    object.member("identity", &proxy_json::quote(&server.identity));
    let infos: Vec<String> = server.infos.iter().map(|seen| info_text(seen, depth + 2)).collect();
    object.member("server", &array_text(&infos, depth + 1));
    for kind in KINDS {
        let items = server.items.of(kind);
        if !items.is_empty() {
            object.member(item_member(kind), &items_text(items, depth + 1));
        }
    }
    object.close()
}

fn info_text(seen: &LockedInfo, depth: usize) -> String {
    let info = &seen.info;
    let mut object = ObjectText::open(depth);
    object.profiles(&seen.profiles);
    for (member, text) in [("name", &info.name), ("version", &info.version), ("title", &info.title)] {
        if !text.is_empty() {
            object.member(member, &pretty(&raw(text), 0));
        }
    }
    object.member("protocol", &pretty(&raw(&info.protocol_version), 0));
    object.member("capabilities", &pretty(&raw(&info.capabilities), depth + 1));
    if info.implementation != Value::Null {
        object.member("serverInfo", &pretty(&raw(&info.implementation), depth + 1));
    }
    if !info.instructions.is_empty() {
        object.member("instructions", &pretty(&raw(&info.instructions), 0));
    }
    object.close()
}

fn items_text(items: &BTreeMap<String, LockedItem>, depth: usize) -> String {
    let mut object = ObjectText::open(depth);
    for (key, item) in items {
        object.member(key, &item_text(item, depth + 1));
    }
    object.close()
}

fn item_text(item: &LockedItem, depth: usize) -> String {
    let mut object = ObjectText::open(depth);
    for (member, _) in [("absent", item.absent), ("block", item.block)].into_iter().filter(|(_, is_set)| *is_set) {
        object.member(member, "true");
    }
    match &item.definitions[..] {
        [only] if only.profiles.is_empty() => object.definition(only),
        several => {
            let texts: Vec<String> = several.iter().map(|approved| variant_text(approved, depth + 2)).collect();
            object.member("variants", &array_text(&texts, depth + 1));
        }
    }
    object.close()
}

fn variant_text(approved: &LockedDefinition, depth: usize) -> String {
    let mut object = ObjectText::open(depth);
    object.profiles(&approved.profiles);
    object.definition(approved);
    object.close()
}

fn array_text(items: &[String], depth: usize) -> String {
    if items.is_empty() {
        return "[]".to_owned();
    }
    let mut text = "[".to_owned();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        new_line(&mut text, depth + 1);
        text.push_str(item);
    }
    new_line(&mut text, depth);
    text.push(']');
    text
}

/// The text of an object that is being written.
struct ObjectText {
    text: String,
    depth: usize,
}

impl ObjectText {
    fn open(depth: usize) -> Self {
        ObjectText { text: "{".to_owned(), depth }
    }

    fn member(&mut self, name: &str, value: &str) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        new_line(&mut self.text, self.depth + 1);
        let mut key = String::new();
        push_quoted(&mut key, name);
        self.text.push_str(&proxy_base::foreign_text::json_visible(&key));
        self.text.push_str(": ");
        self.text.push_str(value);
    }

    fn profiles(&mut self, profiles: &[ClientProfile]) {
        if !profiles.is_empty() {
            let names: Vec<String> =
                profiles.iter().map(|profile| proxy_json::quote(&profile_name(*profile))).collect();
            self.member("profiles", &array_text(&names, self.depth + 1));
        }
    }

    fn definition(&mut self, approved: &LockedDefinition) {
        self.member("digest", &format!("\"sha256:{}\"", approved.digest));
        let text = pretty(approved.definition.raw(), self.depth + 1);
        self.member("definition", &text);
    }

    fn close(mut self) -> String {
        if self.text.len() > 1 {
            new_line(&mut self.text, self.depth);
        }
        self.text.push('}');
        self.text
    }
}
