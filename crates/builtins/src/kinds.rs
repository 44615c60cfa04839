//! The words for the four kinds of item in the script API and in error messages.

use proxy_model::ItemKind;

pub(crate) fn noun(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "tool",
        ItemKind::Resource => "resource",
        ItemKind::ResourceTemplate => "resource template",
        ItemKind::Prompt => "prompt",
    }
}

/// The field that identifies an item, such as `name` for a tool and `uri` for a resource.
pub(crate) fn key_field(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool | ItemKind::Prompt => "name",
        ItemKind::Resource => "uri",
        ItemKind::ResourceTemplate => "uri_template",
    }
}

/// The identifying field as a noun for error messages, such as "URI".
pub(crate) fn key_noun(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool | ItemKind::Prompt => "name",
        ItemKind::Resource => "URI",
        ItemKind::ResourceTemplate => "URI template",
    }
}

/// The built-in that publishes an item.
pub(crate) fn publisher(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "publish",
        ItemKind::Resource => "publish_resource",
        ItemKind::ResourceTemplate => "publish_resource_template",
        ItemKind::Prompt => "publish_prompt",
    }
}

/// The built-in that makes metadata for a new item.
pub(crate) fn maker(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "metadata",
        ItemKind::Resource => "resource_metadata",
        ItemKind::ResourceTemplate => "resource_template_metadata",
        ItemKind::Prompt => "prompt_metadata",
    }
}

/// The method of a backend that lists its items.
pub(crate) fn lister(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "tools",
        ItemKind::Resource => "resources",
        ItemKind::ResourceTemplate => "resource_templates",
        ItemKind::Prompt => "prompts",
    }
}
