//! The actions that policies decide about.

use proxy_model::ItemKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyAction {
    CallTool,
    GetPrompt,
    ReadResource,
    /// A method that MCP does not define.
    CallMethod,
}

impl PolicyAction {
    pub const ALL: [Self; 4] = [Self::CallTool, Self::GetPrompt, Self::ReadResource, Self::CallMethod];

    /// The position in [`PolicyAction::ALL`].
    pub(super) fn index(self) -> usize {
        match self {
            Self::CallTool => 0,
            Self::GetPrompt => 1,
            Self::ReadResource => 2,
            Self::CallMethod => 3,
        }
    }

    /// The use of an item.
    pub fn of(kind: ItemKind) -> Self {
        match kind {
            ItemKind::Tool => Self::CallTool,
            ItemKind::Prompt => Self::GetPrompt,
            ItemKind::Resource | ItemKind::ResourceTemplate => Self::ReadResource,
        }
    }

    /// The id of the action: `Action::"call_tool"`.
    pub fn id(self) -> &'static str {
        match self {
            Self::CallTool => "call_tool",
            Self::GetPrompt => "get_prompt",
            Self::ReadResource => "read_resource",
            Self::CallMethod => "call_method",
        }
    }

    /// The type of the entity that the action is about: `Tool::"search"`.
    pub fn entity_type(self) -> &'static str {
        match self {
            Self::CallTool => "Tool",
            Self::GetPrompt => "Prompt",
            Self::ReadResource => "Resource",
            Self::CallMethod => "Method",
        }
    }

    /// The attributes `operation` and `feature`, as ToolHive sets them.
    pub(super) fn operation_and_feature(self) -> (&'static str, &'static str) {
        match self {
            Self::CallTool => ("call", "tool"),
            Self::GetPrompt => ("get", "prompt"),
            Self::ReadResource => ("read", "resource"),
            Self::CallMethod => ("call", "method"),
        }
    }
}
