//! What a session script publishes to clients: the publishing functions, their checks, and the resulting plan.

pub(super) mod bind;
pub(super) mod carrier;
pub(super) mod checks;
pub(super) mod completion;
pub(super) mod functions;
pub(super) mod instructions;
pub(super) mod passthrough;
pub(super) mod plan;
pub(super) mod refresh;
pub(super) mod skip;
pub(super) mod unchecked;
