//! Reads a lock file. Every error has its line and says what to do.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::file::{LockFile, LockedDefinition, LockedInfo, LockedItem, LockedServer};
use super::names::{KINDS, item_member, item_noun};
use super::pretty::compact;
use super::profiles::parse_profile;
use super::write::VERSION;
use crate::{ClientProfile, Definition, ItemKind, PerKind, ServerInfo};
use proxy_base::diagnostic::{Diagnostic, Location};
use proxy_json::{RawRef, too_deep};

/// The lines that git leaves in a file that it could not merge.
const CONFLICT_MARKERS: [&str; 3] = ["<<<<<<<", "=======", ">>>>>>>"];

impl LockFile {
    /// Reads the text of a lock file.
    ///
    /// # Errors
    /// What is wrong with it, where, and how to repair it.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Box<Diagnostic>> {
        LockReader { path, text }.read().map_err(Box::new)
    }
}

struct LockReader<'a> {
    path: &'a Path,
    text: &'a str,
}

/// The members of an object in order, duplicates included.
struct Members<'a>(Vec<(String, &'a RawRef)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Vec<(String, &'de RawRef)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(MembersVisitor).map(Members)
    }
}

type Read<T> = Result<T, Diagnostic>;

impl<'a> LockReader<'a> {
    fn read(&self) -> Read<LockFile> {
        self.check_conflict()?;
        if too_deep(self.text.as_bytes()) {
            return Err(self.error("the lock nests too deeply", 0..0).hint(REPAIR));
        }
        let whole: &RawRef = serde_json::from_str(self.text).map_err(|error| self.invalid(&error))?;
        let members = self.members(whole)?;
        let version = self.required(&members, "version", whole)?;
        match version.get().parse::<u64>() {
            Ok(VERSION) => {}
            Ok(newer) if newer > VERSION => {
                let message = format!("version {newer} of the lock was written by a newer proxy");
                return Err(self.error(message, self.span(version)).hint("update this proxy"));
            }
            _ => return Err(self.error("`version` must be 1", self.span(version)).hint(REPAIR)),
        }
        self.check_known(&members, &["version", "servers"])?;
        let mut file = LockFile::default();
        for (name, server) in self.members(self.required(&members, "servers", whole)?)? {
            file.servers.insert(name, self.server(server)?);
        }
        Ok(file)
    }

    fn check_conflict(&self) -> Read<()> {
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            if CONFLICT_MARKERS.iter().any(|marker| line.starts_with(marker)) {
                let span = start..start + line.trim_end().len();
                return Err(self.error("the lock has a merge conflict", span).hint(
                    "keep the lines of one side, remove the markers, and run `proxy lock` to approve what is missing",
                ));
            }
            start += line.len();
        }
        Ok(())
    }

    fn server(&self, value: &'a RawRef) -> Read<LockedServer> {
        let members = self.members(value)?;
        let known: Vec<&str> = ["identity", "server"].into_iter().chain(KINDS.map(item_member)).collect();
        self.check_known(&members, &known)?;
        let mut items = PerKind::default();
        for kind in KINDS {
            if let Some(listed) = find(&members, item_member(kind)) {
                *items.of_mut(kind) = self.items(kind, listed)?;
            }
        }
        let infos = match find(&members, "server") {
            Some(list) => self.list(list)?.into_iter().map(|seen| self.info(seen)).collect::<Read<_>>()?,
            None => Vec::new(),
        };
        Ok(LockedServer { identity: self.string(self.required(&members, "identity", value)?)?, infos, items })
    }

    fn info(&self, value: &'a RawRef) -> Read<LockedInfo> {
        let members = self.members(value)?;
        let known = ["profiles", "name", "version", "title", "protocol", "capabilities", "serverInfo", "instructions"];
        self.check_known(&members, &known)?;
        let text = |name: &str| find(&members, name).map_or(Ok(String::new()), |text| self.string(text));
        let json = |name: &str| find(&members, name).map_or(Value::Null, parsed);
        let info = ServerInfo {
            name: text("name")?,
            version: text("version")?,
            title: text("title")?,
            instructions: text("instructions")?,
            protocol_version: text("protocol")?,
            capabilities: json("capabilities"),
            implementation: json("serverInfo"),
        };
        Ok(LockedInfo { profiles: self.profiles(&members)?, info: Arc::new(info) })
    }

    fn items(&self, kind: ItemKind, value: &'a RawRef) -> Read<BTreeMap<String, LockedItem>> {
        let items = self.members(value)?.into_iter().map(|(key, item)| {
            let read = self.item(kind, &key, item)?;
            Ok((key, read))
        });
        items.collect()
    }

    fn item(&self, kind: ItemKind, key: &str, value: &'a RawRef) -> Read<LockedItem> {
        let members = self.members(value)?;
        self.check_known(&members, &["absent", "block", "digest", "definition", "variants"])?;
        let definitions = match find(&members, "variants") {
            Some(list) => {
                let variants = self.list(list)?.into_iter().map(|variant| {
                    let members = self.members(variant)?;
                    self.check_known(&members, &["profiles", "digest", "definition"])?;
                    self.definition(kind, key, variant, &members)
                });
                variants.collect::<Read<Vec<_>>>()?
            }
            None => vec![self.definition(kind, key, value, &members)?],
        };
        if definitions.is_empty() {
            let message = format!("the {} has no definition", item_noun(kind, key));
            return Err(self.error(message, self.span(value)).hint(REPAIR));
        }
        Ok(LockedItem { absent: self.flag(&members, "absent")?, block: self.flag(&members, "block")?, definitions })
    }

    fn definition(
        &self,
        kind: ItemKind,
        key: &str,
        whole: &'a RawRef,
        members: &[(String, &'a RawRef)],
    ) -> Read<LockedDefinition> {
        let text = self.required(members, "definition", whole)?;
        let digest = self.required(members, "digest", whole)?;
        let definition = Definition::parse(kind, compact(text)).map_err(|error| {
            let message = format!("this is no definition of the {}: {error}", item_noun(kind, key));
            self.error(message, self.span(text)).hint(REPAIR)
        })?;
        if definition.key() != key {
            let message = format!("the {} has the definition of `{}`", item_noun(kind, key), definition.key());
            return Err(self.error(message, self.span(text)).hint(REPAIR));
        }
        let written = self.string(digest)?;
        let actual = definition.digest();
        if written.strip_prefix("sha256:") != Some(actual.as_str()) {
            let message = format!(
                "the definition of the {} does not match its digest, so it was changed by hand",
                item_noun(kind, key)
            );
            return Err(self.error(message, self.span(digest)).hint(REPAIR));
        }
        Ok(LockedDefinition { profiles: self.profiles(members)?, definition: Arc::new(definition), digest: actual })
    }

    fn profiles(&self, members: &[(String, &'a RawRef)]) -> Read<Vec<ClientProfile>> {
        let Some(list) = find(members, "profiles") else { return Ok(Vec::new()) };
        let profiles = self.list(list)?.into_iter().map(|name| {
            let text = self.string(name)?;
            parse_profile(&text).ok_or_else(|| {
                let message = format!("unknown client profile `{text}`");
                self.error(message, self.span(name))
                    .hint("a profile is `session` or `stateless`, with `+form`, `+url` …")
            })
        });
        profiles.collect()
    }

    /// The members of an object. A member that occurs twice is an error: people would read one, and the proxy the other.
    fn members(&self, value: &'a RawRef) -> Read<Vec<(String, &'a RawRef)>> {
        let Ok(Members(members)) = serde_json::from_str::<Members<'a>>(value.get()) else {
            return Err(self.error("expected an object", self.span(value)).hint(REPAIR));
        };
        for (index, (name, again)) in members.iter().enumerate() {
            if members[..index].iter().any(|(earlier, _)| earlier == name) {
                let message = format!("`{name}` occurs twice");
                return Err(self.error(message, self.span(again)).hint("keep one of the two"));
            }
        }
        Ok(members)
    }

    fn check_known(&self, members: &[(String, &'a RawRef)], known: &[&str]) -> Read<()> {
        match members.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, value)) => {
                let hint = format!("the members here are `{}`", known.join("`, `"));
                Err(self.error(format!("unknown member `{name}`"), self.span(value)).hint(hint))
            }
        }
    }

    fn required(&self, members: &[(String, &'a RawRef)], name: &str, whole: &'a RawRef) -> Read<&'a RawRef> {
        find(members, name).ok_or_else(|| {
            let start = self.span(whole).start;
            self.error(format!("`{name}` is missing"), start..start + 1).hint(REPAIR)
        })
    }

    fn list(&self, value: &'a RawRef) -> Read<Vec<&'a RawRef>> {
        serde_json::from_str(value.get()).map_err(|_| self.error("expected a list", self.span(value)).hint(REPAIR))
    }

    fn string(&self, value: &'a RawRef) -> Read<String> {
        let text = value.text().map(|text| text.into_owned());
        text.ok_or_else(|| self.error("expected a text", self.span(value)).hint(REPAIR))
    }

    fn flag(&self, members: &[(String, &'a RawRef)], name: &str) -> Read<bool> {
        match find(members, name).map(|value| (value, value.get())) {
            None | Some((_, "false")) => Ok(false),
            Some((_, "true")) => Ok(true),
            Some((value, _)) => Err(self.error(format!("`{name}` must be true or false"), self.span(value))),
        }
    }

    fn invalid(&self, error: &serde_json::Error) -> Diagnostic {
        let line_start: usize =
            self.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let at = line_start + error.column().saturating_sub(1);
        self.error(format!("the lock is not valid JSON: {error}"), at..at + 1).hint(REPAIR)
    }

    fn span(&self, value: &RawRef) -> Range<usize> {
        let start = (value.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        // The first line is enough to find it.
        let length = value.get().find('\n').unwrap_or(value.get().len());
        start..start + length
    }

    fn error(&self, message: impl Into<String>, span: Range<usize>) -> Diagnostic {
        Diagnostic::error(message).at(Location::new(self.path.display().to_string(), self.text, span))
    }
}

/// How to repair a lock that cannot be read.
const REPAIR: &str =
    "restore the file with `git checkout`, or remove the entry and run `proxy lock` to approve it again";

fn find<'a>(members: &[(String, &'a RawRef)], name: &str) -> Option<&'a RawRef> {
    members.iter().find(|(member, _)| member == name).map(|(_, value)| *value)
}

fn parsed(value: &RawRef) -> Value {
    serde_json::from_str(value.get()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Abilities;

    fn tool(text: &str) -> Definition {
        Definition::parse(ItemKind::Tool, proxy_json::valid(text.to_owned()).unwrap()).unwrap()
    }

    fn approved(profiles: Vec<ClientProfile>, text: &str) -> LockedDefinition {
        LockedDefinition::new(profiles, &tool(text), ItemKind::Tool).unwrap()
    }

    fn example() -> LockFile {
        let mut items: PerKind<BTreeMap<String, LockedItem>> = PerKind::default();
        let one = approved(Vec::new(), "{\"name\":\"a\",\"description\":\"x\u{200b}y\",\"inputSchema\":{\"n\":1.10}}");
        items.tools.insert("a".to_owned(), LockedItem { definitions: vec![one], ..LockedItem::default() });
        let form = ClientProfile { abilities: Abilities { form: true, ..Abilities::NONE }, ..ClientProfile::SESSION };
        let two = vec![
            approved(vec![ClientProfile::SESSION, ClientProfile::STATELESS], r#"{"name":"b","inputSchema":{}}"#),
            approved(vec![form], r#"{"name":"b","title":"B","inputSchema":{}}"#),
        ];
        items.tools.insert("b".to_owned(), LockedItem { absent: true, block: true, definitions: two });
        let info = ServerInfo {
            name: "s".to_owned(),
            version: "1".to_owned(),
            protocol_version: "2025-11-25".to_owned(),
            instructions: "Be kind.".to_owned(),
            capabilities: serde_json::json!({"tools": {}}),
            implementation: serde_json::json!({"name": "s", "version": "1"}),
            ..ServerInfo::default()
        };
        let infos = vec![LockedInfo { profiles: Vec::new(), info: Arc::new(info) }];
        let server = LockedServer { identity: "sha256:0".to_owned(), infos, items };
        LockFile { servers: BTreeMap::from([("time".to_owned(), server)]) }
    }

    fn problem(text: &str) -> String {
        let error = LockFile::parse(Path::new("proxy.lock"), text).unwrap_err();
        assert!(error.hint.is_some(), "{}", error.message);
        format!("{}: {}", error.place.as_ref().map_or(0, Location::line), error.message)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let file = example();
        let text = file.to_text();
        assert!(text.contains(r#""description": "x\u200by""#) && text.contains("\"n\": 1.10\n"), "{text}");
        let read = LockFile::parse(Path::new("proxy.lock"), &text).unwrap();
        assert_eq!(read, file);
        assert_eq!(read.to_text(), text);
        let empty = LockFile::default().to_text();
        assert_eq!(LockFile::parse(Path::new("proxy.lock"), &empty).unwrap(), LockFile::default());
    }

    #[test]
    fn an_error_has_its_line() {
        let text = example().to_text();
        assert_eq!(
            problem(&text.replacen("\"version\": 1", "\"version\": 2", 1)),
            "2: version 2 of the lock was written by a newer proxy"
        );
        assert_eq!(problem("{}"), "1: `version` is missing");
        assert!(problem(&text[..text.len() - 4]).contains("not valid JSON"), "{}", problem(&text[..text.len() - 4]));
        let conflict = text.replacen("  \"servers\"", "<<<<<<< HEAD\n  \"servers\"", 1);
        assert_eq!(problem(&conflict), "3: the lock has a merge conflict");
        let twice = text.replacen("\"b\": {", "\"a\": {", 1);
        assert!(problem(&twice).ends_with(": `a` occurs twice"), "{}", problem(&twice));
        let by_hand = text.replacen("Be kind.", "Obey.", 1).replacen("\"title\": \"B\"", "\"title\": \"C\"", 1);
        assert!(problem(&by_hand).contains("does not match its digest"), "{}", problem(&by_hand));
        let nothing =
            text.replacen("\"title\": \"B\",", "", 1).replacen("\"inputSchema\": {}", "\"inputSchema\": 1", 1);
        assert!(problem(&nothing).contains("this is no definition of the tool `b`"), "{}", problem(&nothing));
        let unknown = text.replacen("\"absent\": true", "\"gone\": true", 1);
        assert!(problem(&unknown).contains("unknown member `gone`"), "{}", problem(&unknown));
    }
}
