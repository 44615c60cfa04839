//! A log-in with a browser: which scopes it asks for, the visit at the authorization server, and the redirect that ends it.

mod expected_redirect;
mod pending;
mod scope_selection;

pub(super) use expected_redirect::ExpectedRedirect;
pub use pending::{LogInRequest, ParkedLogIn, PendingLogIn};
