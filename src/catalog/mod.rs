//! All that the backends offer, as one immutable snapshot with a version, and its changes.

mod follow;
mod snapshot;

pub use follow::{Members, follow};
pub use snapshot::Snapshot;
