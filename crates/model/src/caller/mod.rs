//! Who makes a request: the user, the client, and what they may be shown and asked.

mod abilities;
mod home;
mod named_user;
mod owner;
mod person_key;
mod principal;
mod profile;
mod request;
mod scope_rules;
mod sid;
mod surface_key;

pub use abilities::Abilities;
pub use home::Home;
pub use named_user::NamedUser;
pub use owner::Owner;
pub use person_key::PersonKey;
pub use principal::{Principal, PrincipalData, Realm, Who};
pub use profile::{ClientProfile, Era};
pub use request::{ClientInfo, RequestInfo};
pub use scope_rules::{ScopeRule, ScopeRules};
pub use sid::{SessionDigest, Sid};
pub use surface_key::{SurfaceCacheKey, SurfaceKey};
