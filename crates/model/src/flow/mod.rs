//! Information flow: labels on items, and the marks that a conversation has after it has read a labelled item.

mod labels;
mod marks;
mod policy;

pub use labels::{EGRESS, Labels, UNTRUSTED, check_label};
pub use marks::{Mark, Marks};
pub use policy::{FlowAction, FlowDecision, Reading};
