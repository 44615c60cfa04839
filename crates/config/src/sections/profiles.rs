//! `profiles`: views of the same servers at paths of their own, for one group of clients each.

use std::sync::Arc;

use glob::Pattern;
use indexmap::IndexMap;

use super::aggregation::{Aggregation, read_aggregation};
use super::code_mode::{CodeMode, read_code_mode};
use super::oauth_values::read_scope;
use super::optimizer::{Optimizer, read_optimizer};
use super::rate_limiting::{RateLimiting, read_rate_limiting};
use super::session_script::{SessionInit, read_session_init};
use crate::syntax::reader::{ANY_KEY, Fields, ValueReader};
use crate::{Config, SetSection};
use proxy_base::diagnostic::{Diagnostic, Location, Severity, nearest};

/// Paths below the endpoint that are pages.
const RESERVED: [&str; 3] = ["connect", "approvals", "sign-in"];
/// The maximum length of a name.
const MAX_NAME: usize = 63;

/// One view: some servers, and how they are published. What it does not set is as at the top level.
#[derive(Clone, Debug)]
pub struct Profile {
    pub selection: Arc<ServerSelection>,
    pub access: Arc<ProfileAccess>,
    session: Option<SessionInit>,
    aggregation: Option<Aggregation>,
    optimizer: Option<Optimizer>,
    code_mode: Option<CodeMode>,
    rate_limiting: Option<RateLimiting>,
    /// The sections that the profile sets, except `params`, which belongs to the script.
    set_sections: Vec<SetSection>,
    /// Where it says who may use it.
    access_place: Option<Location>,
}

/// The name of a profile, and the servers and extensions that it shows.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSelection {
    pub profile: Arc<str>,
    servers: Vec<ServerPattern>,
    /// Whether the profile has rate limits of its own, and so buckets of its own.
    pub has_own_limits: bool,
}

/// The name of a server or extension, or a glob.
#[derive(Clone, Debug, PartialEq)]
struct ServerPattern {
    pattern: Pattern,
    /// The error if there is no server of this name.
    unknown: Diagnostic,
}

/// Who may use a profile, beside what the top level demands of everybody.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileAccess {
    /// The scopes that every token of an issuer must have.
    pub required_scopes: Vec<String>,
    /// The groups of which a user must have one. Empty if everybody may use the profile.
    pub groups: Vec<String>,
}

impl ServerSelection {
    /// Whether the profile shows this server or extension.
    pub fn shows(&self, server: &str) -> bool {
        self.servers.iter().any(|named| named.pattern.matches(server))
    }
}

impl Profile {
    /// An error for each server that the profile names and that does not exist. `known` are the names of all servers and
    /// extensions. A glob may match a server that does not exist yet.
    fn unknown_servers(&self, known: &[&str]) -> Vec<Diagnostic> {
        let named = self.selection.servers.iter().filter(|named| !is_glob(named.pattern.as_str()));
        let unknown = named.filter(|named| !known.contains(&named.pattern.as_str()));
        let error = |named: &ServerPattern| {
            named.unknown.clone().hint(match nearest(named.pattern.as_str(), known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "the config has no servers and no extensions".to_owned(),
                None => format!("the servers and extensions are {}", known.join(", ")),
            })
        };
        unknown.map(error).collect()
    }

    /// Warnings for the globs that match no server or extension.
    fn unmatched_servers(&self, known: &[&str]) -> Vec<Diagnostic> {
        let globs = self.selection.servers.iter().filter(|named| is_glob(named.pattern.as_str()));
        let unmatched = globs.filter(|named| !known.iter().any(|name| named.pattern.matches(name)));
        let warning = |named: &ServerPattern| Diagnostic { severity: Severity::Warning, ..named.unknown.clone() };
        unmatched.map(|named| warning(named).rule("unmatched-pattern")).collect()
    }
}

fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

impl Config {
    /// The config as the clients of a profile see it: with what the profile sets in place of the top level's.
    #[must_use]
    pub fn of_profile(&self, profile: &Profile) -> Config {
        let mut config = Config { profiles: IndexMap::new(), ..self.clone() };
        config.auth.profiles = IndexMap::new();
        config.selection = Some(Arc::clone(&profile.selection));
        // What the top level sets need not be read by a script that only the profile has.
        let is_own = |name: &str| profile.set_sections.iter().any(|set| set.name == name);
        let has_own_script = profile.session.is_some();
        config.set_sections.retain(|set| !has_own_script && !is_own(set.name));
        config.set_sections.extend(profile.set_sections.iter().cloned());
        if let Some(session) = &profile.session {
            config.session = session.script.clone();
            config.params = session.params.clone();
            config.set_sections.extend(session.set_section.clone());
            config.script_for_once = false;
        }
        if let Some(aggregation) = &profile.aggregation {
            config.aggregation = aggregation.clone();
        }
        if let Some(optimizer) = &profile.optimizer {
            config.optimizer = optimizer.clone();
        }
        if let Some(code_mode) = &profile.code_mode {
            config.code_mode = code_mode.clone();
        }
        if let Some(rate_limiting) = &profile.rate_limiting {
            config.rate_limiting = rate_limiting.clone();
        }
        config
    }

    /// The config as the clients of the profile with this name see it, for a process that serves nobody else.
    ///
    /// # Errors
    /// If there is no such profile.
    pub fn select_profile(&self, name: &str) -> Result<Config, Diagnostic> {
        let Some(profile) = self.profiles.get(name) else {
            let known = || self.profiles.keys().map(String::as_str);
            let problem = Diagnostic::error(format!("`--profile`: no profile `{name}`"));
            return Err(problem.hint(match nearest(name, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if self.profiles.is_empty() => "the config has no section `profiles`".to_owned(),
                None => format!("the profiles are {}", known().collect::<Vec<_>>().join(", ")),
            }));
        };
        // A running proxy with this file serves more than that.
        let mut config = Config { digest: None, ..self.of_profile(profile) };
        for (name, server) in &mut config.servers {
            server.disabled |= !profile.selection.shows(name);
        }
        Ok(config)
    }

    /// Errors for the servers and workloads that profiles name and that do not exist. `known` are the names of all servers
    /// and extensions.
    pub fn unknown_in_profiles(&self, known: &[&str]) -> Vec<Diagnostic> {
        let of_profile = |profile: &Profile| {
            let workloads = profile.aggregation.iter().flat_map(|aggregation| aggregation.unknown_workloads(known));
            profile.unknown_servers(known).into_iter().chain(workloads).collect::<Vec<_>>()
        };
        self.profiles.values().flat_map(of_profile).collect()
    }

    /// Warnings for the globs of profiles that match no server or extension.
    pub fn unmatched_in_profiles(&self, known: &[&str]) -> Vec<Diagnostic> {
        self.profiles.values().flat_map(|profile| profile.unmatched_servers(known)).collect()
    }
}

pub(crate) fn read_profiles(reader: &ValueReader) -> Option<IndexMap<String, Profile>> {
    let profiles = reader.map(|name, reader| {
        let is_named = check_name(name, reader);
        let profile = read_profile(name, reader)?;
        is_named.then_some(profile)
    })?;
    Some(profiles.into_iter().collect())
}

/// Whether a text can be the name of a profile.
pub fn is_profile_name(name: &str) -> bool {
    let is_first = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_rest = |letter: u8| is_first(letter) || letter == b'_' || letter == b'-';
    let begins_well = name.bytes().next().is_some_and(is_first);
    begins_well && name.len() <= MAX_NAME && name.bytes().all(is_rest) && !RESERVED.contains(&name)
}

fn check_name(name: &str, reader: &ValueReader) -> bool {
    if name == ANY_KEY || is_profile_name(name) {
        return true;
    }
    let problem = if RESERVED.contains(&name) {
        format!("`{name}` is the path of a page, so no profile can have this name")
    } else {
        format!(
            "the name of a profile is part of a URL: it has at most {MAX_NAME} lower-case letters, digits, `-` and `_`, \
             and begins with a letter or digit"
        )
    };
    reader.report(reader.problem(&problem).at(reader.place()));
    false
}

fn read_profile(name: &str, reader: &ValueReader) -> Option<Profile> {
    let mut fields = reader.fields()?;
    let servers = fields.get("servers");
    let session = fields.read("sessionInit", read_session_init);
    let mut set_sections = Vec::new();
    let aggregation = read_section(&mut fields, "aggregation", read_aggregation, &mut set_sections);
    let optimizer = read_section(&mut fields, "optimizer", read_optimizer, &mut set_sections);
    let code_mode = read_section(&mut fields, "codeMode", read_code_mode, &mut set_sections);
    let rate_limiting = read_section(&mut fields, "rateLimiting", read_rate_limiting, &mut set_sections);
    let auth = fields.get("auth");
    let access_place = auth.as_ref().map(ValueReader::place);
    let access = auth.and_then(|auth| read_access(&auth)).unwrap_or_default();
    fields.finish();
    let Some(servers) = servers else {
        return reader.fail("missing key `servers` (the servers and extensions that it shows; `[\"*\"]` for all)");
    };
    if servers.is_empty() {
        return servers.expected("at least one server or extension (`[\"*\"]` for all)");
    }
    let selection = ServerSelection {
        profile: name.into(),
        servers: servers.list(read_server)?,
        has_own_limits: rate_limiting.is_some(),
    };
    Some(Profile {
        selection: Arc::new(selection),
        access: Arc::new(access),
        session,
        aggregation,
        optimizer,
        code_mode,
        rate_limiting,
        set_sections,
        access_place,
    })
}

fn read_section<'a, T: Default>(
    fields: &mut Fields<'a>,
    name: &'static str,
    read: impl FnOnce(&ValueReader<'a>) -> Option<T>,
    set: &mut Vec<SetSection>,
) -> Option<T> {
    let reader = fields.get(name)?;
    set.push(SetSection { name, place: reader.place() });
    Some(read(&reader).unwrap_or_default())
}

fn read_server(reader: &ValueReader) -> Option<ServerPattern> {
    let written = reader.word()?;
    let Ok(pattern) = Pattern::new(&written) else {
        return reader.expected("the name of a server or extension, or a glob such as `wiki*`");
    };
    let problem = if is_glob(&written) {
        "no server and no extension matches this".to_owned()
    } else {
        format!("there is no server and no extension `{written}`")
    };
    Some(ServerPattern { pattern, unknown: reader.problem(&problem) })
}

fn read_access(reader: &ValueReader) -> Option<ProfileAccess> {
    let mut fields = reader.fields()?;
    let required_scopes = fields.read("requiredScopes", |scopes| scopes.list(read_scope)).unwrap_or_default();
    let groups = fields.read("groups", |groups| groups.list(ValueReader::word)).unwrap_or_default();
    fields.finish();
    Some(ProfileAccess { required_scopes, groups })
}

/// Errors for demands that nobody could meet, or that hold for nobody.
pub(crate) fn vain_demands(config: &Config) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    if config.serve.require_profile && config.profiles.is_empty() {
        let problem = Diagnostic::error("`serve.requireProfile`: there is no profile, so nothing would be served");
        problems.push(problem.hint("add the section `profiles`, or remove `requireProfile`"));
    }
    for (name, profile) in &config.profiles {
        let path = format!("profiles.{name}.auth");
        let place = profile.access_place.as_ref();
        if !profile.access.required_scopes.is_empty() && config.auth.issuers.is_empty() {
            let problem =
                format!("`{path}.requiredScopes`: has no effect without `auth.issuers`: static tokens are exempt");
            problems.push(Diagnostic::error(problem).at_known(place));
        }
        if !profile.access.groups.is_empty() && config.auth.is_empty() {
            let problem = format!("`{path}.groups`: nobody has a group without `auth.issuers` or `auth.tokens`");
            problems.push(Diagnostic::error(problem).at_known(place).hint("add them to `auth`, or remove `groups`"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use crate::testing::{errors, loaded, rendered};
    use crate::{Config, SessionScript};

    const SERVERS: &str = "mcpServers: {arxiv: {command: x}, wiki-en: {command: y}, crm: {command: z}}\n";

    fn of(text: &str, name: &str) -> Config {
        loaded(&format!("{SERVERS}{text}")).select_profile(name).unwrap()
    }

    #[test]
    fn a_profile_replaces_whole_sections_and_keeps_the_others() {
        let text = "optimizer: {enabled: true, listBelow: 7}\naggregation: {excludeAllTools: true}\n\
                    sessionInit: {preset: default, params: {a: 1}}\n\
                    profiles:\n  research: {servers: [arxiv, 'wiki*'], optimizer: {listBelow: 3}}\n";
        let config = of(text, "research");
        assert_eq!((config.optimizer.enabled, config.optimizer.list_below), (false, 3), "whole sections");
        assert!(config.aggregation.exclude_all_tools);
        assert_eq!(config.params["a"], 1);
        let set: Vec<&str> = config.set_sections.iter().map(|set| set.name).collect();
        assert_eq!(set, ["params", "aggregation", "optimizer"]);
        let selection = config.selection.expect("it is a profile");
        assert_eq!(&*selection.profile, "research");
        let shown = ["arxiv", "wiki-en", "crm"].map(|server| selection.shows(server));
        assert_eq!(shown, [true, true, false]);
        let disabled: Vec<bool> = config.servers.values().map(|server| server.disabled).collect();
        assert_eq!(disabled, [false, false, true], "what nobody sees is not started");
        assert!(!selection.has_own_limits && config.digest.is_none() && config.profiles.is_empty());
    }

    #[test]
    fn a_script_of_its_own_need_not_read_what_the_top_level_sets() {
        let text = "aggregation: {excludeAllTools: true}\nsessionInit: {params: {a: 1}}\n\
                    profiles:\n  r: {servers: ['*'], sessionInit: {preset: read-only}, rateLimiting: {}}\n";
        let config = of(text, "r");
        let set: Vec<&str> = config.set_sections.iter().map(|set| set.name).collect();
        assert_eq!(set, ["rateLimiting"]);
        assert!(matches!(&config.session, SessionScript::Preset { name, .. } if name == "read-only"));
        assert!(config.params.is_empty() && config.selection.is_some_and(|selection| selection.has_own_limits));
    }

    #[test]
    fn what_cannot_be_a_profile_is_told_with_its_place() {
        let text = "profiles:\n  connect: {servers: ['*']}\n  Research: {servers: ['*']}\n  a:\n    servers: []\n  b: {}\n  \
                    c: {servers: ['*'], server: x}\n  d: {servers: ['[']}\n  _e: {servers: ['*']}\n";
        let name = "the name of a profile is part of a URL: it has at most 63 lower-case letters, digits, `-` and `_`, and \
                    begins with a letter or digit";
        assert_eq!(
            errors(text),
            [
                "2:3 `profiles.connect`: `connect` is the path of a page, so no profile can have this name".to_owned(),
                format!("3:3 `profiles.Research`: {name}"),
                "5:14 `profiles.a.servers`: expected at least one server or extension (`[\"*\"]` for all), found a list"
                    .to_owned(),
                "6:6 `profiles.b`: missing key `servers` (the servers and extensions that it shows; `[\"*\"]` for all)"
                    .to_owned(),
                "7:23 unknown key `profiles.c.server` (did you mean `servers`?)".to_owned(),
                "8:17 `profiles.d.servers[0]`: expected the name of a server or extension, or a glob such as `wiki*`, \
                 found `'['`"
                    .to_owned(),
                format!("9:3 `profiles._e`: {name}"),
            ]
        );
    }

    #[test]
    fn a_server_that_does_not_exist_is_told_with_the_nearest_name() {
        let config = loaded(&format!(
            "{SERVERS}profiles:\n  a: {{servers: [arxvi, 'none*'], aggregation: {{tools: [{{workload: crn}}]}}}}\n"
        ));
        let known = ["arxiv", "wiki-en", "crm"];
        let found = rendered(&config.unknown_in_profiles(&known));
        assert_eq!(
            found[0],
            "3:17 `profiles.a.servers[0]`: there is no server and no extension `arxvi` (did you mean `arxiv`?)"
        );
        assert!(found.len() == 2 && found[1].contains("did you mean `crm`?"), "{found:?}");
        let unmatched = rendered(&config.unmatched_in_profiles(&known));
        assert_eq!(unmatched, ["3:24 `profiles.a.servers[1]`: no server and no extension matches this"]);
        let error = config.select_profile("b").expect_err("there is none");
        assert_eq!(rendered(&[error]), ["`--profile`: no profile `b` (the profiles are a)"]);
    }

    #[test]
    fn demands_that_nobody_could_meet_are_refused() {
        let found = errors("profiles:\n  a: {servers: ['*'], auth: {groups: [ops], requiredScopes: [mcp]}}\n");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|error| error.contains("nobody has a group")), "{found:?}");
        assert!(found.iter().any(|error| error.contains("static tokens are exempt")), "{found:?}");
        let config = loaded(
            "auth: {tokens: [{token: s3cret-of-length-1, sub: a}]}\nprofiles:\n  a: {servers: ['*'], auth: {groups: [ops]}}\n",
        );
        assert_eq!(config.auth.profiles["a"].groups, ["ops"]);
        let found = errors("serve: {requireProfile: true}\n");
        assert!(found[0].contains("nothing would be served"), "{found:?}");
    }
}
