//! How scripts speak of the four kinds of thing that can be published.

use crate::model::ItemKind;

pub(crate) fn noun(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "tool",
        ItemKind::Resource => "resource",
        ItemKind::ResourceTemplate => "resource template",
        ItemKind::Prompt => "prompt",
    }
}

/// What its key is called: `name` of a tool is what `uri` is of a resource.
pub(crate) fn key_field(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool | ItemKind::Prompt => "name",
        ItemKind::Resource => "uri",
        ItemKind::ResourceTemplate => "uri_template",
    }
}

/// The same in a sentence.
pub(crate) fn key_noun(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool | ItemKind::Prompt => "name",
        ItemKind::Resource => "URI",
        ItemKind::ResourceTemplate => "URI template",
    }
}

/// The function that publishes it.
pub(crate) fn publisher(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "publish",
        ItemKind::Resource => "publish_resource",
        ItemKind::ResourceTemplate => "publish_resource_template",
        ItemKind::Prompt => "publish_prompt",
    }
}

/// The function that makes a new one's metadata.
pub(crate) fn maker(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "metadata",
        ItemKind::Resource => "resource_metadata",
        ItemKind::ResourceTemplate => "resource_template_metadata",
        ItemKind::Prompt => "prompt_metadata",
    }
}

/// The method of a backend that lists them.
pub(crate) fn lister(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "tools",
        ItemKind::Resource => "resources",
        ItemKind::ResourceTemplate => "resource_templates",
        ItemKind::Prompt => "prompts",
    }
}
