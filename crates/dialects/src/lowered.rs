//! One tool as one client gets it.

use std::collections::HashMap;

use serde_json::Value;

use super::change::{Change, Changes, Path, Step, brief};
use super::dialect::Dialect;
use super::dialect_tool::DialectTool;
use super::names::short_name;
use super::schema;
use proxy_json::{Object, Raw, RawRef, check_unique_keys, raw};

/// A schema of more bytes is replaced as a whole: no model could read it.
const MAX_SCHEMA: usize = 1 << 20;
/// What the description of a tool tells of the arguments is at most this part of what the client shows of it.
const MAX_NOTES: usize = 600;

/// One tool as one client gets it.
#[derive(Debug, Default, PartialEq)]
pub struct Lowered {
    /// The definition; `None` if the client gets the published one.
    text: Option<Raw>,
    /// The short name, if it has one.
    pub short_name: Option<String>,
    /// The properties with another name: the name in the client's list, and the published one.
    properties: Vec<(String, String)>,
    pub changes: Vec<Change>,
    /// Whether the tool as listed allows arguments that the published schema does not. Then the proxy checks them.
    pub takes_constraint: bool,
    /// Why the tool cannot be listed, whatever else is.
    pub conflict: Option<String>,
}

impl Lowered {
    pub fn text(&self) -> Option<&RawRef> {
        self.text.as_deref()
    }

    pub fn is_changed(&self) -> bool {
        self.text.is_some()
    }

    /// The memory that this takes, without the published definition.
    pub fn bytes(&self) -> usize {
        let text = self.text.as_ref().map_or(0, |text| text.get().len());
        let names: usize = self.properties.iter().map(|(short, published)| short.len() + published.len()).sum();
        let of_change = |change: &Change| size_of::<Change>() + change.pointer.len() + change.what.len();
        text + names + self.changes.iter().map(of_change).sum::<usize>()
    }

    /// The arguments in the params of a call under their published names; `None` if they have them already.
    ///
    /// # Errors
    /// If two arguments mean the same one.
    pub fn arguments_of(&self, params: &Object<'_>) -> Result<Option<Raw>, String> {
        params.get("arguments").map_or(Ok(None), |arguments| self.published_arguments(arguments))
    }

    /// The arguments under their published names; `None` if they have them already.
    ///
    /// # Errors
    /// If two arguments mean the same one: only the server could tell which counts.
    pub fn published_arguments(&self, arguments: &RawRef) -> Result<Option<Raw>, String> {
        if self.properties.is_empty() {
            return Ok(None);
        }
        let sent = Object::of(arguments).map_err(|error| error.to_string())?;
        let renamed: HashMap<&str, &str> =
            self.properties.iter().map(|(short, published)| (short.as_str(), published.as_str())).collect();
        let published = |name: &str| renamed.get(name).copied();
        if sent.iter().all(|(name, _)| published(name).is_none()) {
            return Ok(None);
        }
        let members: Vec<(&str, &RawRef)> =
            sent.iter().map(|(name, value)| (published(name).unwrap_or(name), value)).collect();
        let arguments = proxy_json::object(members);
        check_unique_keys(&arguments).map_err(|error| error.to_string())?;
        Ok(Some(arguments))
    }
}

/// The tool as a client of this row gets it. A pure function of its arguments.
pub fn lower(dialect: &Dialect, tool: &DialectTool<'_>) -> Lowered {
    if !dialect.changes_tools() {
        return Lowered::default();
    }
    let Ok(object) = Object::of(tool.definition.raw()) else { return Lowered::default() };
    let mut changes = Changes::new();
    let mut edit = object.edit();
    let mut lowered = Lowered::default();
    if let Some(sent) = object.get("inputSchema").filter(|sent| needs_steps(dialect, sent)) {
        let outcome = lower_schema(dialect, sent, &mut changes);
        lowered.properties = outcome.properties;
        lowered.conflict = outcome.conflict;
        if let Some(schema) = outcome.schema {
            edit.set("inputSchema", &raw(&schema));
        }
    }
    lowered.short_name = short_name(dialect, tool);
    if let Some(short) = &lowered.short_name {
        changes.step = Step::Name;
        changes.note(&Path::ROOT, || format!("`{short}`"));
        edit.set("name", &raw(short));
    }
    let description = object.string("description");
    if let Some(text) = described(dialect, tool, description.as_deref().unwrap_or_default(), &mut changes) {
        edit.set("description", &raw(&text));
    }
    if !edit.is_empty() {
        lowered.text = Some(edit.finish_raw());
    }
    lowered.takes_constraint = changes.takes_constraint;
    lowered.changes = changes.finish();
    lowered
}

/// Whether a step for schemas may change this one.
fn needs_steps(dialect: &Dialect, schema: &RawRef) -> bool {
    !dialect.limits.schema.is_empty() && schema.get().starts_with('{')
}

#[derive(Default)]
struct LoweredSchema {
    /// `None` if nothing changed.
    schema: Option<Value>,
    properties: Vec<(String, String)>,
    conflict: Option<String>,
}

fn lower_schema(dialect: &Dialect, sent: &RawRef, changes: &mut Changes) -> LoweredSchema {
    let text = sent.get();
    if text.len() > MAX_SCHEMA {
        changes.step = Step::Refs;
        let what = format!("the schema of {} KiB is too large for any model", text.len() >> 10);
        changes.take_from_tool(&what, "Its schema is too large to be shown".to_owned());
        let open = serde_json::json!({"type": "object", "properties": {}});
        return LoweredSchema { schema: Some(open), ..LoweredSchema::default() };
    }
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return LoweredSchema::default() };
    let mut outcome = LoweredSchema::default();
    for step in &dialect.limits.schema {
        changes.step = *step;
        match step {
            Step::Refs => schema::inline_references(&mut value, changes),
            Step::Const => schema::constants_to_enums(&mut value, changes),
            Step::Types => schema::single_types(&mut value, changes),
            Step::RootUnion => schema::merge_root_union(&mut value, changes),
            Step::Items => schema::complete_items(&mut value, changes),
            Step::Properties => schema::complete_properties(&mut value, changes),
            Step::Keywords => schema::drop_keywords(&mut value, changes),
            Step::Enums => schema::drop_enums(&mut value, changes),
            Step::PropertyNames => match schema::rename_properties(&mut value, changes) {
                Ok(properties) => outcome.properties = properties,
                Err(conflict) => outcome.conflict = Some(conflict),
            },
            Step::Name | Step::Description => {}
        }
    }
    if !changes.is_empty() {
        outcome.schema = Some(value);
    }
    outcome
}

/// The description with what it has to tell about the arguments, as long as the client shows it; `None` if it is the
/// published one.
fn described(dialect: &Dialect, tool: &DialectTool<'_>, published: &str, changes: &mut Changes) -> Option<String> {
    changes.step = Step::Description;
    let max = dialect.limits.description_length;
    let notes = brief(&changes.notes.join(". "), max.map_or(MAX_NOTES, |max| MAX_NOTES.min(max / 2)));
    let notes = if notes.is_empty() { notes } else { format!("Arguments: {notes}.") };
    let space = if notes.is_empty() || published.is_empty() { 0 } else { 2 };
    let room = max.map(|max| max.saturating_sub(notes.chars().count() + space));
    let length = published.chars().count();
    let cut = room.filter(|room| length > *room).map(|room| {
        // A model takes a list for all there is, so it gets all of the list or none.
        if let Some(without_list) = tool.without_list {
            let what = "does not list the tools but tells how to find them";
            changes.note(&Path::ROOT, || format!("{what}: it had {length} characters, and the limit is {room}"));
            return cut_before_end(without_list, room);
        }
        changes.note(&Path::ROOT, || format!("cut from {length} to {room} characters"));
        cut_at_sentence(published, room)
    });
    if notes.is_empty() {
        return cut;
    }
    let text = cut.unwrap_or_else(|| published.to_owned());
    Some(if text.is_empty() { notes } else { format!("{text}\n\n{notes}") })
}

/// The beginning of a text, to the end of a sentence if that leaves at least half of it.
fn cut_at_sentence(text: &str, max: usize) -> String {
    let end = text.char_indices().nth(max).map_or(text.len(), |(end, _)| end);
    let fitting = &text[..end];
    let sentence = [". ", ".\n", "\n\n", "! ", "? "].into_iter().filter_map(|mark| Some((fitting.rfind(mark)?, mark)));
    match sentence.map(|(at, mark)| at + mark.trim_end().len()).max() {
        Some(at) if at >= end / 2 => fitting[..at].to_owned(),
        _ => brief(fitting, max.saturating_sub(3)) + "...",
    }
}

/// The beginning of a text and its last paragraph.
fn cut_before_end(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let (beginning, end) = text.rsplit_once("\n\n").unwrap_or((text, ""));
    let room = max.saturating_sub(end.chars().count() + 2);
    if end.is_empty() || room == 0 {
        return cut_at_sentence(text, max);
    }
    format!("{}\n\n{end}", cut_at_sentence(beginning, room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_ends_with_a_sentence() {
        assert_eq!(cut_at_sentence("One two. Three four. Five six", 22), "One two. Three four.");
        assert_eq!(cut_at_sentence("äöü ".repeat(20).as_str(), 10).chars().count(), 10);
    }

    #[test]
    fn how_to_find_the_tools_stays_in_a_short_description() {
        let text = "Runs a script. It ends with return. Loops are fine.\n\nsearch_tools(\"x\") finds tools.";
        assert_eq!(cut_before_end(text, 200), text);
        assert_eq!(cut_before_end(text, 70), "Runs a script. It ends with return.\n\nsearch_tools(\"x\") finds tools.");
        assert!(cut_before_end(text, 20).chars().count() <= 20);
    }
}
