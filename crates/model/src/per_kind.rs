//! One value for each kind of item.

use crate::ItemKind;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerKind<T> {
    pub tools: T,
    pub resources: T,
    pub resource_templates: T,
    pub prompts: T,
}

impl<T> PerKind<T> {
    /// The value that a function makes for each kind, in the order of [`ItemKind::ALL`].
    pub fn make(mut value: impl FnMut(ItemKind) -> T) -> Self {
        PerKind {
            tools: value(ItemKind::Tool),
            resources: value(ItemKind::Resource),
            resource_templates: value(ItemKind::ResourceTemplate),
            prompts: value(ItemKind::Prompt),
        }
    }

    pub fn of(&self, kind: ItemKind) -> &T {
        match kind {
            ItemKind::Tool => &self.tools,
            ItemKind::Resource => &self.resources,
            ItemKind::ResourceTemplate => &self.resource_templates,
            ItemKind::Prompt => &self.prompts,
        }
    }

    pub fn of_mut(&mut self, kind: ItemKind) -> &mut T {
        match kind {
            ItemKind::Tool => &mut self.tools,
            ItemKind::Resource => &mut self.resources,
            ItemKind::ResourceTemplate => &mut self.resource_templates,
            ItemKind::Prompt => &mut self.prompts,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        ItemKind::ALL.into_iter().map(|kind| self.of(kind))
    }
}
