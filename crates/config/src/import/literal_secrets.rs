//! Secrets that an imported config holds as plain text, so that their user can move them to the environment.

use super::shown::one_line;
use super::{Imported, ImportedServer, ImportedTarget, ImportedText};
use crate::syntax::mask::{SecretFlag, flag_of, is_address_with_credentials, sounds_secret};

/// Where they are: `github: env GITHUB_TOKEN`. Never their values.
pub fn literal_secrets(imported: &Imported) -> Vec<String> {
    imported.entries.iter().flat_map(of_server).collect()
}

fn of_server(server: &ImportedServer) -> Vec<String> {
    let name = one_line(&server.name);
    let mut found = Vec::new();
    match &server.target {
        ImportedTarget::Command(command) => {
            found.extend(named("env", &command.env));
            let mut after_flag = None;
            for argument in &command.args {
                let flag = flag_of(&argument.written);
                let label = argument.written.split(['=', ':']).next().unwrap_or_default();
                match (flag, after_flag.take()) {
                    (SecretFlag::WithValue, _) if is_literal(argument) => {
                        found.push(format!("argument {}", one_line(label)));
                    }
                    (SecretFlag::BeforeValue, _) => after_flag = Some(one_line(label)),
                    (SecretFlag::None, Some(flag)) if is_literal(argument) => found.push(format!("argument {flag}")),
                    _ => {}
                }
            }
        }
        ImportedTarget::Url { url, headers, .. } => {
            if is_address_with_credentials(&url.written) && is_literal(url) {
                found.push("the query or user of its url".to_owned());
            }
            found.extend(named("header", headers));
        }
    }
    found.into_iter().map(|place| format!("{name}: {place}")).collect()
}

fn named(kind: &str, values: &[(String, ImportedText)]) -> Vec<String> {
    let secret = values.iter().filter(|(name, text)| sounds_secret(name) && is_literal(text));
    secret.map(|(name, _)| format!("{kind} {}", one_line(name))).collect()
}

fn is_literal(text: &ImportedText) -> bool {
    !text.text.is_empty() && !text.text.replace("$$", "").contains("${")
}
