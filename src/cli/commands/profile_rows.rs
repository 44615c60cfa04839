//! The profiles in `proxy status`.

use crate::cli::table;
use proxy_base::foreign_text::visible;
use proxy_model::operator_api::{ItemCounts, ProfileStatus};

/// What each profile publishes, and how many sessions it has.
pub(super) fn render(profiles: &[ProfileStatus]) -> String {
    let rows: Vec<Vec<String>> = profiles
        .iter()
        .map(|profile| vec![profile.name.clone(), profile.path.clone(), state(profile), profile.sessions.to_string()])
        .collect();
    table::render(&["PROFILE", "PATH", "PUBLISHED", "SESSIONS"], &rows)
}

fn state(profile: &ProfileStatus) -> String {
    match &profile.published {
        Some(counts) => published(counts),
        None if !profile.script_errors.is_empty() => "nothing: its script fails".to_owned(),
        None => "not used yet".to_owned(),
    }
}

/// How many items of each kind there are.
pub(super) fn published(counts: &ItemCounts) -> String {
    let counted = [(counts.tools, "tool"), (counts.resources, "resource"), (counts.prompts, "prompt")];
    let shown = counted.into_iter().filter(|(number, noun)| *number > 0 || *noun == "tool");
    shown.map(|(number, noun)| table::count(number, noun)).collect::<Vec<_>>().join(", ")
}

/// What is wrong with the scripts of profiles, each error with a heading.
pub(super) fn errors(profiles: &[ProfileStatus]) -> Vec<String> {
    let mut lines = Vec::new();
    for profile in profiles {
        let name = visible(&profile.name);
        if !profile.script_errors.is_empty() {
            lines.extend([String::new(), format!("the session script of the profile `{name}` fails:")]);
            lines.extend(profile.script_errors.iter().map(|error| visible(error).trim_end().to_owned()));
        }
        for failed in &profile.user_errors {
            let user = visible(&failed.user);
            let heading = format!("the session script of the profile `{name}` fails for user `{user}`:");
            lines.extend([String::new(), heading, visible(&failed.error).trim_end().to_owned()]);
        }
    }
    lines
}
