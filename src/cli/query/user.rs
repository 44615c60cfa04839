//! The user whose surface a command shows and uses.

use std::sync::Arc;

use clap::Args;
use serde_json::Value;

use crate::cli::failure::CommandFailure;
use crate::cli::setup;
use proxy_config::Config;
use proxy_identity::bearer::named_user;
use proxy_model::{NamedUser, Principal};
use proxy_server::Authenticator;

#[derive(Debug, Args)]
pub(in crate::cli) struct UserArgs {
    /// Act as this user: the `sub` of a token in the config, a user from an issuer, or any other name
    #[arg(long, value_name = "SUB")]
    as_user: Option<String>,
    /// Claims in that user's token, as a JSON object such as '{"groups": ["ops"]}'
    #[arg(long, value_name = "JSON", requires = "as_user")]
    claims: Option<String>,
}

/// A user, with what a running proxy needs to identify them.
#[derive(Clone, Debug)]
pub(in crate::cli) struct ActingUser {
    /// `None` for the local user.
    pub(super) named: Option<NamedUser>,
    pub(in crate::cli) principal: Principal,
}

impl UserArgs {
    /// The user of these options, or else the local one.
    pub(in crate::cli) fn user(&self, config: &Config) -> Result<ActingUser, CommandFailure> {
        let Some(sub) = &self.as_user else { return Ok(ActingUser::local().under(config)) };
        if sub.is_empty() {
            return Err(CommandFailure::usage("--as-user is empty: name a user"));
        }
        let claims = match self.claims.as_deref().map(serde_json::from_str::<Value>) {
            None => serde_json::Map::new(),
            Some(Ok(Value::Object(claims))) => claims,
            Some(Ok(_)) => return Err(CommandFailure::usage("--claims must be a JSON object")),
            Some(Err(error)) => return Err(CommandFailure::usage(format!("--claims is not valid JSON: {error}"))),
        };
        let named = NamedUser { sub: sub.clone(), claims };
        let principal = named_user(&config.auth, &named).map_err(CommandFailure::usage)?;
        Ok(ActingUser { named: Some(named), principal }.under(config))
    }
}

impl ActingUser {
    pub(in crate::cli) fn local() -> Self {
        ActingUser { named: None, principal: Authenticator::local_user(&setup::variables()) }
    }

    /// The same user under the profile that a config is of.
    pub(super) fn under(self, config: &Config) -> Self {
        let profile = config.selection.as_ref().map(|selection| Arc::clone(&selection.profile));
        ActingUser { principal: self.principal.in_profile(profile), ..self }
    }

    pub(in crate::cli) fn is_named(&self) -> bool {
        self.named.is_some()
    }

    /// The option to append to suggested commands so that they act as the same user: ` --as-user ann`, or nothing.
    pub(in crate::cli) fn option(&self) -> String {
        let Some(named) = &self.named else { return String::new() };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.@:".contains(letter);
        match named.sub.chars().all(is_plain) {
            true => format!(" --as-user {}", named.sub),
            false => format!(" --as-user '{}'", named.sub.replace('\'', r"'\''")),
        }
    }
}
