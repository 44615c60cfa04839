//! Converts content blocks that a client's revision does not define into blocks that it defines. Unknown block types
//! are passed on: they may come from a future revision.

use proxy_json::{Needle, Object, Raw, RawRef, array, object, raw};
use proxy_model::ItemKind;
use proxy_wire::Revision;

/// Converts the blocks of a tool or prompt result for a revision. A substring search rules out most results quickly.
pub(crate) fn encode_for(revision: Revision, kind: ItemKind, result: Raw) -> Raw {
    if !has_newer_blocks(revision, &result) {
        return result;
    }
    let changed = match kind {
        ItemKind::Tool => in_tool_result(revision, &result),
        ItemKind::Prompt => in_prompt(revision, &result),
        ItemKind::Resource | ItemKind::ResourceTemplate => None,
    };
    changed.unwrap_or(result)
}

fn has_newer_blocks(revision: Revision, result: &RawRef) -> bool {
    (revision < Revision::V2025_06_18 && has_links(result))
        || (revision < Revision::V2025_03_26 && AUDIO.is_in(result.get()))
}

static AUDIO: Needle = Needle::new("audio");
static LINK: Needle = Needle::new("resource_link");

/// Whether a result may contain resource links. A fast substring search with false positives.
pub(crate) fn has_links(result: &RawRef) -> bool {
    LINK.is_in(result.get())
}

fn in_tool_result(revision: Revision, result: &RawRef) -> Option<Raw> {
    let object = Object::of(result).ok()?;
    let content = in_list(revision, object.get("content")?)?;
    Some(object.edit().set("content", &content).finish_raw())
}

fn in_prompt(revision: Revision, result: &RawRef) -> Option<Raw> {
    let object = Object::of(result).ok()?;
    let messages: Vec<&RawRef> = serde_json::from_str(object.get("messages")?.get()).ok()?;
    let message = |(index, raw): (usize, &&RawRef)| {
        let message = Object::of(raw).ok()?;
        let content = message.get("content")?;
        let converted = in_list(revision, content).or_else(|| block(revision, index, content))?;
        Some(message.edit().set("content", &converted).finish_raw())
    };
    let messages = replaced(&messages, message)?;
    Some(object.edit().set("messages", &messages).finish_raw())
}

/// Converts a list of blocks; `None` if nothing changes.
fn in_list(revision: Revision, blocks: &RawRef) -> Option<Raw> {
    let blocks: Vec<&RawRef> = serde_json::from_str(blocks.get()).ok()?;
    replaced(&blocks, |(index, raw)| block(revision, index, raw))
}

fn replaced(items: &[&RawRef], change: impl Fn((usize, &&RawRef)) -> Option<Raw>) -> Option<Raw> {
    let changed: Vec<Option<Raw>> = items.iter().enumerate().map(change).collect();
    if changed.iter().all(Option::is_none) {
        return None;
    }
    Some(array(items.iter().zip(&changed).map(|(item, changed)| changed.as_deref().unwrap_or(item))))
}

/// Converts one block; `None` if it does not change.
fn block(revision: Revision, index: usize, raw: &RawRef) -> Option<Raw> {
    let block = Object::of(raw).ok()?;
    match block.string("type")?.as_str() {
        "resource_link" if revision < Revision::V2025_06_18 => Some(link_as_text(&block)),
        "audio" if revision < Revision::V2025_03_26 => audio_as_resource(&block, index),
        _ => None,
    }
}

fn link_as_text(link: &Object<'_>) -> Raw {
    let member = |name: &str| link.string(name).filter(|text| !text.is_empty());
    let mut text = member("title").or_else(|| member("name")).unwrap_or_else(|| "resource".to_owned());
    if let Some(kind) = member("mimeType") {
        text.push_str(&format!(" ({kind})"));
    }
    text.push_str(&format!(": {}", member("uri").unwrap_or_default()));
    if let Some(description) = member("description") {
        text.push_str(&format!("\n{description}"));
    }
    let (kind, text) = (raw("text"), raw(&text));
    object([("type", &*kind), ("text", &*text)].into_iter().chain(common_members(link)))
}

/// Converts audio to an embedded resource with the same data. A resource requires a URI, so one is made up; it cannot
/// be read.
fn audio_as_resource(audio: &Object<'_>, index: usize) -> Option<Raw> {
    let mime_type = audio.get("mimeType").unwrap_or(const { RawRef::string_literal("\"audio/*\"") });
    let uri = raw(&format!("embedded:audio/{index}"));
    let resource = object([("uri", &*uri), ("mimeType", mime_type), ("blob", audio.get("data")?)]);
    let kind = raw("resource");
    Some(object([("type", &*kind), ("resource", &*resource)].into_iter().chain(common_members(audio))))
}

/// The members that every type of block may have.
fn common_members<'a>(block: &Object<'a>) -> impl Iterator<Item = (&'static str, &'a RawRef)> {
    ["annotations", "_meta"].into_iter().filter_map(|member| Some((member, block.get(member)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{ "type":"text", "text":"audio \u0061nd resource_link", "n":1.10 }"#;
    const AUDIO: &str = r#"{"type":"audio","data":"QQ==","mimeType":"audio/wav","annotations":{"priority":1.0}}"#;
    const LINK: &str =
        r#"{"type":"resource_link","uri":"a://b","name":"b","mimeType":"text/plain","description":"A b"}"#;
    const FUTURE: &str = r#"{"type":"hologram","audio":[1e400]}"#;

    fn tool(revision: Revision) -> String {
        let text = format!(r#"{{"x":1.10,"content":[{TEXT},{AUDIO},{LINK},{FUTURE}]}}"#);
        encode_for(revision, ItemKind::Tool, proxy_json::valid(text).unwrap()).get().to_owned()
    }

    #[test]
    fn blocks_that_a_revision_lacks_are_converted_to_those_it_has() {
        let link = r#"{"type":"text","text":"b (text/plain): a://b\nA b"}"#;
        let audio = r#"{"type":"resource","resource":{"uri":"embedded:audio/1","mimeType":"audio/wav","blob":"QQ=="},"annotations":{"priority":1.0}}"#;
        let whole = |audio: &str, link: &str| format!(r#"{{"x":1.10,"content":[{TEXT},{audio},{link},{FUTURE}]}}"#);
        assert_eq!(tool(Revision::V2024_11_05), whole(audio, link));
        assert_eq!(tool(Revision::V2025_03_26), whole(AUDIO, link));
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
            assert_eq!(tool(revision), whole(AUDIO, LINK));
        }
    }

    #[test]
    fn messages_of_a_prompt_hold_blocks_too() {
        let text =
            format!(r#"{{"messages":[{{"role":"user","content":{LINK}}}, {{"role":"user","content":{TEXT}}}]}}"#);
        let prompt = encode_for(Revision::V2025_03_26, ItemKind::Prompt, proxy_json::valid(text).unwrap());
        let link = r#"{"type":"text","text":"b (text/plain): a://b\nA b"}"#;
        assert_eq!(
            prompt.get(),
            format!(r#"{{"messages":[{{"role":"user","content":{link}}},{{"role":"user","content":{TEXT}}}]}}"#)
        );
    }
}
