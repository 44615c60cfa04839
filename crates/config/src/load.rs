//! Loads a config file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use proxy_base::diagnostic::Diagnostic;

use super::files::{ConfigFiles, read_include};
use super::sections::aggregation::read_aggregation;
use super::sections::audit::read_audit;
use super::sections::auth::{missing_public_url, read_auth};
use super::sections::cedar::read_cedar;
use super::sections::clients::read_clients;
use super::sections::code_mode::read_code_mode;
use super::sections::flow::read_flow;
use super::sections::lock::read_lock;
use super::sections::optimizer::read_optimizer;
use super::sections::profiles::{read_profiles, vain_demands};
use super::sections::rate_limiting::read_rate_limiting;
use super::sections::results::read_results;
use super::sections::serve::read_serve;
use super::sections::server::{
    AuthConfig, ServerConfig, read_defaults, read_inherited, read_servers, resolve_personal_accounts, resolve_signed,
    resolve_subject_issuers,
};
use super::sections::session_script::read_session_init;
use super::sections::store::{StoreAddress, read_store};
use super::sections::telemetry::read_telemetry;
use super::syntax::document::{ConfigDocument, folder_of};
use super::syntax::reader::{Fields, ReadContext, Shape, ValueReader};
use super::syntax::sources::{Reading, SecretValues, Sources};
use super::syntax::substitute::VariableLookup;
use super::{Config, ExtensionPath, SetSection};

type Loaded = Result<(Config, Vec<Diagnostic>), Vec<Diagnostic>>;

/// Loads a file and its includes. Returns the config with its warnings, or all errors. Values in files and of commands are not
/// read.
pub fn load(path: &Path, environment: &VariableLookup) -> Result<(Config, Vec<Diagnostic>), Vec<Diagnostic>> {
    load_files(&[path.to_owned()], environment)
}

/// Loads several files as one config. Later files override earlier ones; the first file identifies the config.
pub fn load_files(
    paths: &[PathBuf],
    environment: &VariableLookup,
) -> Result<(Config, Vec<Diagnostic>), Vec<Diagnostic>> {
    load_files_with(paths, environment, SecretValues::Unread)
}

/// Loads several files as one config, with these of the values in files and of commands.
pub fn load_files_with(paths: &[PathBuf], environment: &VariableLookup, values: SecretValues) -> Loaded {
    let mut files = ConfigFiles::new(environment);
    paths.iter().for_each(|path| files.add(path));
    load_document(paths, &files, values)
}

/// Loads the text of a config file. `path` determines the format and the base of relative paths.
pub fn load_text(
    path: &Path,
    text: &str,
    environment: &VariableLookup,
) -> Result<(Config, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut files = ConfigFiles::new(environment);
    files.add_text(path, text.to_owned());
    load_document(&[path.to_owned()], &files, SecretValues::Unread)
}

fn load_document(paths: &[PathBuf], files: &ConfigFiles<'_>, values: SecretValues) -> Loaded {
    if !files.problems.is_empty() {
        return Err(files.problems.clone());
    }
    let (reading, run) = match values {
        SecretValues::Unread => (Reading::Nothing, None),
        SecretValues::OfFiles => (Reading::Files, None),
        SecretValues::All(run) => (Reading::WantedCommands, Some(run)),
    };
    let mut sources = Sources::new(reading, files.environment);
    let loaded = read_document(paths, files, &sources)?;
    match run {
        // They run only for a config that is right otherwise.
        Some(run) if sources.has_commands() => {
            sources.run(run);
            read_document(paths, files, &sources)
        }
        _ => Ok(loaded),
    }
}

fn read_document(paths: &[PathBuf], files: &ConfigFiles<'_>, sources: &Sources<'_>) -> Loaded {
    let used = RefCell::new(BTreeMap::new());
    let recorded = |name: &str| {
        let value = (files.environment)(name);
        used.borrow_mut().insert(name.to_owned(), value.clone());
        value
    };
    let context = ReadContext::new(&files.document, &recorded).with_sources(sources);
    let first = paths.first();
    let mut config = Config::default_for(&first.map(|path| folder_of(path)).unwrap_or_default());
    config.path = first.cloned();
    config.files = paths.to_vec();
    read_sections(&context.root(), &mut config);
    let texts: Vec<&str> = files.read.texts.iter().filter_map(|(_, text)| text.as_deref()).collect();
    config.unread = context.unread_keys();
    config.secret_values = sources.values();
    config.digest = Some(digest(&texts.join("\0"), &used.borrow(), &config));
    let (errors, warnings): (Vec<_>, Vec<_>) = context.finish().into_iter().partition(Diagnostic::is_error);
    if errors.is_empty() { Ok((config, warnings)) } else { Err(errors) }
}

/// The digest of everything that determines a config: its text, the variables in it, and the environment variables of its
/// servers, which may come from files.
fn digest(text: &str, variables: &BTreeMap<String, Option<String>>, config: &Config) -> String {
    let servers = config.servers.values().map(|server| server.environment_digest());
    let whole = format!("{text}\0{variables:?}\0{}", servers.collect::<Vec<_>>().join(" "));
    proxy_json::hex(&Sha256::digest(whole))
}

/// The keys that the config readers request: each key by its path, in order.
pub(super) fn recorded() -> Vec<(String, Shape)> {
    let Ok(document) = ConfigDocument::parse(Path::new("proxy.yaml"), "") else { return Vec::new() };
    let context = ReadContext::recording(&document, &|_| None);
    read_sections(&context.root(), &mut Config::default_for(Path::new("")));
    context.recorded()
}

fn read_sections(root: &ValueReader, config: &mut Config) {
    let Some(mut fields) = root.fields() else { return };
    // Read with the files, before they were merged.
    fields.read("include", read_include);
    read_all_servers(&mut fields, config);
    if let Some((paths, watch)) = fields.read("extensions", read_extensions) {
        (config.extensions, config.watch_extensions) = (paths, watch);
    }
    if let Some(session) = fields.read("sessionInit", read_session_init) {
        config.session = session.script;
        config.params = session.params;
        config.set_sections.extend(session.set_section);
    }
    if let Some(reader) = fields.get("aggregation") {
        config.aggregation = read_aggregation(&reader).unwrap_or_default();
        config.set_sections.push(SetSection { name: "aggregation", place: reader.place() });
    }
    if let Some(reader) = fields.get("optimizer") {
        config.optimizer = read_optimizer(&reader).unwrap_or_default();
        config.set_sections.push(SetSection { name: "optimizer", place: reader.place() });
    }
    if let Some(reader) = fields.get("codeMode") {
        config.code_mode = read_code_mode(&reader).unwrap_or_default();
        config.set_sections.push(SetSection { name: "codeMode", place: reader.place() });
    }
    if let Some(reader) = fields.get("rateLimiting") {
        config.rate_limiting = read_rate_limiting(&reader).unwrap_or_default();
        config.set_sections.push(SetSection { name: "rateLimiting", place: reader.place() });
    }
    fields.set(&mut config.profiles, "profiles", read_profiles);
    fields.set(&mut config.serve, "serve", read_serve);
    fields.set(&mut config.store, "store", read_store);
    unsealed_log_ins(config).into_iter().for_each(|problem| root.report(problem));
    fields.set(&mut config.auth, "auth", read_auth);
    let access = config.profiles.iter().map(|(name, profile)| (name.as_str().into(), Arc::clone(&profile.access)));
    config.auth.profiles = access.collect();
    config.auth.requires_profile = config.serve.require_profile;
    vain_demands(config).into_iter().for_each(|problem| root.report(problem));
    missing_public_url(&config.auth, &config.serve).into_iter().for_each(|problem| root.report(problem));
    let unresolved = resolve_subject_issuers(&mut config.servers, &config.auth.issuers);
    unresolved.into_iter().for_each(|problem| root.report(problem));
    let unresolved = resolve_personal_accounts(&mut config.servers, &config.auth, &config.serve);
    unresolved.into_iter().for_each(|problem| root.report(problem));
    resolve_signed(&mut config.servers, &config.serve).into_iter().for_each(|problem| root.report(problem));
    fields.set(&mut config.telemetry, "telemetry", read_telemetry);
    config.audit = fields.read("audit", read_audit);
    config.cedar = fields.read("cedar", |reader| read_cedar(reader, &config.servers));
    fields.set(&mut config.lock, "lock", read_lock);
    fields.set(&mut config.results, "results", read_results);
    config.flow = fields.read("flow", read_flow);
    fields.set(&mut config.dialects, "clients", read_clients);
    fields.finish();
}

/// `mcpServers`, or `servers` and `inputs` as VS Code writes them.
fn read_all_servers(fields: &mut Fields, config: &mut Config) {
    let [mcp_servers, servers, inputs] = ["mcpServers", "servers", "inputs"].map(|key| fields.get(key));
    let defaults = fields.read("defaults", read_defaults).unwrap_or_default();
    if let (Some(_), Some(servers)) = (&mcp_servers, &servers) {
        servers
            .report(servers.problem("has the same meaning as `mcpServers`; keep only one of them").at(servers.place()));
    }
    for reader in [mcp_servers, servers].into_iter().flatten() {
        config.servers.extend(read_servers(&reader, &defaults).unwrap_or_default());
        method_clashes(&config.servers).into_iter().for_each(|problem| reader.report(problem));
    }
    if let Some(inherited) = fields.read("inheritEnv", read_inherited) {
        for server in config.servers.values_mut() {
            server.inherit_env.extend(inherited.iter().cloned());
        }
    }
    if let Some(inputs) = inputs {
        let warning = Diagnostic::warning("`inputs` is ignored: the proxy cannot prompt for values").at(inputs.place());
        inputs.report(warning.hint("set environment variables instead and write `${NAME}`"));
    }
}

/// Errors for methods that are assigned to two servers.
fn method_clashes(servers: &IndexMap<String, ServerConfig>) -> Vec<Diagnostic> {
    let active = servers.iter().filter(|(_, server)| !server.disabled);
    let assigned: Vec<_> =
        active.flat_map(|(name, server)| server.methods.iter().map(move |pattern| (pattern, name, server))).collect();
    let mut problems = Vec::new();
    for (index, (pattern, name, server)) in assigned.iter().enumerate() {
        let earlier = assigned[..index].iter().find(|(other, owner, _)| other == pattern && owner != name);
        let Some((_, owner, _)) = earlier else { continue };
        let mut problem =
            Diagnostic::error(format!("method `{pattern}` is assigned to two servers: `{name}` and `{owner}`"));
        problem.place = server.place.clone();
        problems.push(problem);
    }
    problems
}

/// Errors for servers whose log-ins would be in a shared store as plain text.
fn unsealed_log_ins(config: &Config) -> Vec<Diagnostic> {
    if config.store == StoreAddress::Memory || !config.serve.state_keys.is_empty() {
        return Vec::new();
    }
    let kept = config.servers.iter().filter(|(_, server)| matches!(server.auth, Some(AuthConfig::OAuth(_))));
    let problems = kept.map(|(name, server)| {
        let text = format!(
            "`mcpServers.{name}.auth`: a `store` in Redis requires `serve.stateKeys`, which encrypts stored authorizations"
        );
        let mut problem = Diagnostic::error(text)
            .hint("generate a key with `openssl rand -base64 32` and add it to `serve.stateKeys`");
        problem.place = server.place.clone();
        problem
    });
    problems.collect()
}

fn read_extensions(reader: &ValueReader) -> Option<(Vec<ExtensionPath>, bool)> {
    let mut fields = reader.fields()?;
    let paths = fields.read("paths", |paths| {
        paths.list(|item| {
            let written = item.word()?;
            Some(ExtensionPath { path: item.folder().join(&written), written, place: Some(item.place()) })
        })
    });
    let mut watch = true;
    fields.set(&mut watch, "watch", ValueReader::boolean);
    fields.finish();
    Some((paths.unwrap_or_default(), watch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{environment, errors, loaded, rendered};

    #[test]
    fn all_errors_are_told_at_once_each_with_its_line_and_key() {
        assert_eq!(
            errors(
                "mcpServers:\n  github:\n    comand: npx\n    url: https://h/mcp\n    required: 5\nserve: []\nzzz: 1\n"
            ),
            [
                "3:5 unknown key `mcpServers.github.comand` (did you mean `command`?)",
                "5:15 `mcpServers.github.required`: expected `true` or `false`, found `5`",
                "6:8 `serve`: expected a map of keys and values, found a list",
                "7:1 unknown key `zzz` (known keys here: include, mcpServers, servers, inputs, defaults, inheritEnv, extensions, sessionInit, aggregation, \
                 optimizer, codeMode, rateLimiting, profiles, serve, store, auth, telemetry, audit, cedar, lock, results, flow, clients)",
            ]
        );
    }

    #[test]
    fn log_ins_in_a_shared_store_need_a_key() {
        let with = |more: &str| {
            format!(
                "mcpServers:\n  a: {{url: 'https://h/', auth: {{type: oauth}}}}\nstore: {{url: 'redis://h:1'}}\n{more}"
            )
        };
        let found = errors(&with(""));
        assert!(found[0].contains("requires `serve.stateKeys`"), "{found:?}");
        loaded(&with("serve: {stateKeys: [0123456789abcdef0123456789abcdef]}\n"));
        loaded("mcpServers:\n  a: {url: 'https://h/'}\nstore: {url: 'redis://h:1'}\n");
    }

    #[test]
    fn an_unset_variable_is_named_with_its_key() {
        assert_eq!(
            errors(
                "mcpServers:\n  a:\n    command: x\n    required: true\n    env:\n      KEY: ${NONE} and ${input:my-key}\n"
            ),
            [
                "6:12 `mcpServers.a.env.KEY`: `${input:my-key}` is a prompt of VS Code; the proxy cannot prompt for values (set \
                 an environment variable instead and write `${MY_KEY}`)",
                "6:12 `mcpServers.a.env.KEY`: the environment variable `NONE` is not set (set it, or give a default: \
                 `${NONE:-default}`)",
            ]
        );
    }

    #[test]
    fn an_unset_variable_of_a_server_fails_that_server_alone() {
        let config = loaded(
            "mcpServers:\n  a: {command: x, env: {KEY: '${NONE}'}}\n  b: {url: '${NONE}/mcp'}\n  c: {command: y}\n",
        );
        let unset: Vec<usize> = config.servers.values().map(|server| server.unset_variables.len()).collect();
        assert_eq!(unset, [1, 1, 0]);
        let problem = &config.servers["b"].unset_variables[0];
        assert_eq!(problem.message, "`mcpServers.b.url`: the environment variable `NONE` is not set");
        assert_eq!(problem.place.as_ref().map(|place| place.line()), Some(3));
        for entry in [
            "{url: 'https://h/', auth: {type: clientCredentials, clientId: x, clientSecret: '${NONE}'}}",
            "{url: 'https://h/', auth: {type: clientCredentials, clientId: '${NONE}', clientSecret: y}}",
            "{command: '${NONE}/server', inheritEnv: [X], env: {A: b}}",
        ] {
            let config = loaded(&format!("mcpServers: {{a: {entry}}}"));
            assert_eq!(config.servers["a"].unset_variables.len(), 1, "{entry}");
        }
        for elsewhere in ["serve: {path: '${NONE}'}", "defaults: {timeout: '${NONE}'}", "store: {url: '${NONE}'}"] {
            assert!(errors(elsewhere)[0].contains("`NONE` is not set"), "{elsewhere}");
        }
    }

    #[test]
    fn a_server_that_cannot_be_reached_still_tells_its_other_errors() {
        let found = errors("mcpServers: {a: {comand: x, required: true, env: {K: '${NONE}'}, headers: 5}}");
        assert!(found.iter().any(|error| error.contains("`NONE` is not set")), "{found:?}");
        assert!(found.iter().any(|error| error.contains("`mcpServers.a.headers`: expected a map")), "{found:?}");
    }

    #[test]
    fn a_key_written_twice_is_an_error() {
        assert_eq!(
            errors("serve: {path: /a, path: /b}\nserve: {}\n"),
            [
                "1:19 duplicate key `serve.path` (remove one of them; the first is in line 1)",
                "2:1 duplicate key `serve` (remove one of them; the first is in line 1)",
            ]
        );
    }

    #[test]
    fn a_syntax_error_shows_the_line() {
        let found = errors("serve:\n  path: a: b\n");
        assert_eq!(
            found,
            ["2:10 invalid YAML: mapping values are not allowed in this context (a value that contains `: ` must be \
              quoted: `key: \"a: b\"`)"]
        );
    }

    #[test]
    fn a_pasted_claude_desktop_file_loads() {
        let text = "{\n\t\"mcpServers\": {\n\t\t// mine\n\t\t\"fs\": { \"command\": \"npx\", \"args\": [\"-y\", \"server\"], },\n\t}\n}";
        let (config, _) = load_text(Path::new("proxy.json"), text, &environment).unwrap();
        assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["fs"]);
        assert!(config.folder.is_absolute());
    }

    #[test]
    fn a_pasted_vs_code_file_loads_with_a_word_on_its_inputs() {
        let text = r#"{"inputs": [{"id": "k"}], "servers": {"a": {"type": "http", "url": "https://h/mcp"}}}"#;
        let (config, warnings) = load_text(Path::new("mcp.json"), text, &environment).unwrap();
        assert!(config.servers.contains_key("a"));
        assert!(warnings[0].message.contains("`inputs` is ignored"), "{warnings:?}");
        let both = rendered(
            &load_text(Path::new("mcp.json"), r#"{"servers": {}, "mcpServers": {}}"#, &environment).unwrap_err(),
        );
        assert!(both[0].contains("has the same meaning as `mcpServers`"), "{both:?}");
    }

    #[test]
    fn a_file_that_ends_in_toml_is_toml() {
        let text = "[mcpServers.files]\ncommand = \"files\"\nargs = [\".\"]\n";
        let (config, _) = load_text(Path::new("proxy.toml"), text, &environment).unwrap();
        assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["files"]);
        let wrong = text.replace("command", "comand");
        let errors = load_text(Path::new("proxy.toml"), &wrong, &environment).unwrap_err();
        assert!(errors.iter().any(|error| error.to_string().contains("proxy.toml:2:1")), "{errors:?}");
    }

    #[test]
    fn empty_sections_are_absent_ones() {
        let config = loaded("# nothing yet\nmcpServers:\nextensions:\n  paths: [tools, '*.star']\nserve:\n");
        assert!(config.servers.is_empty());
        assert_eq!(config.extensions[1].path, config.folder.join("*.star"));
        assert_eq!(config.extensions[1].place.as_ref().unwrap().line(), 4);
    }

    #[test]
    fn the_template_loads() {
        let config = loaded(crate::template());
        assert!(config.servers.is_empty());
    }

    #[test]
    fn what_the_template_comments_out_loads_too() {
        let uncommented: String = crate::template()
            .replace("  # scriptFile", "  ## scriptFile")
            .lines()
            .map(|line| {
                // Sentences begin with a capital, keys do not.
                let is_prose = line.strip_prefix("# ").is_some_and(|rest| rest.starts_with(char::is_uppercase));
                let line = if is_prose { line.to_owned() } else { line.replacen("# ", "", 1) };
                line + "\n"
            })
            .collect();
        let anything = |_: &str| Some("x".to_owned());
        let config = load_text(Path::new("proxy.yaml"), &uncommented, &anything);
        let (config, _) = config.unwrap_or_else(|errors| panic!("{}\n{uncommented}", rendered(&errors).join("\n")));
        assert_eq!(config.servers.len(), 5);
        assert_eq!(config.aggregation.tools.len(), 1);
    }

    #[test]
    fn secrets_are_in_no_error_and_no_debug_output() {
        let good = "mcpServers:\n  a: {command: x, env: {K: s3cret-1, T: '${TOKEN}'}}\n  b: {url: 'http://h', headers: {X: s3cret-2}}\n\
                    auth: {tokens: [{token: s3cret-of-length-3, sub: ann}]}\naggregation: {}\n";
        let shown = format!("{:?}", loaded(good));
        assert!(!shown.contains("s3cret"), "{shown}");
        let bad = [
            good.replace("command", "comand"),
            good.replace("env: {K", "evn: {K"),
            good.replace("headers: {X", "headers: {'X Y'"),
            good.replace("s3cret-2", "\"s3cret-2\\n\""),
            good.replace("s3cret-1", "s3cret-${NONE}").replace("command: x", "command: x, required: true"),
            good.replace("s3cret-1", "'s3cret-${a b}'"),
            good.replace("s3cret-1", "[s3cret-1]"),
            good.replace("sub: ann", "sub: ''"),
            good.replace("s3cret-of-length-3,", "\"s3cret-of-length-3,"),
            good.replace("s3cret-1,", "s3cret-1: x: ["),
            good.replace("K: s3cret-1", "K: s3cret-1, K: s3cret-2"),
        ];
        for text in bad {
            let errors = load_text(Path::new("proxy.yaml"), &text, &environment).unwrap_err();
            let shown = format!("{errors:?} {}", errors.iter().map(ToString::to_string).collect::<String>());
            assert!(!shown.contains("s3cret"), "{text}\n{shown}");
            assert!(shown.contains("proxy.yaml:"), "{shown}");
        }
    }

    #[test]
    fn a_file_cut_off_anywhere_is_told_without_its_secrets() {
        let yaml = "# ünï\r\nmcpServers:\r\n  é: {command: x, env: {K: \"s3cret-é\", L: 's3cret'}} # ö\n  b:\n    url: http://h\n    headers:\n      \
                    X: >-\n        s3cret\n        s3cret\n      Y: &a s3cret\n      Z: *a\nauth:\n  tokens:\n    - {token: s3cret-of-length-3, sub: ann}\n";
        let json = "{\"mcpServers\": {\n\t\"é\": {\"command\": \"x\", \"env\": {\n\t\t\"K\": \"s3cret-é\"}}, // ö\n\t\"b\": {\"url\": \"http://h\", \
                    \"headers\": {\"X\": \"s3cret\"}}}, \"auth\": {\"tokens\": [{\"token\": \"s3cret-of-length-3\", \"sub\": \"ann\"}]}}";
        let toml = "[mcpServers.a]\ncommand = \"x\"\nenv = { \"ö\" = \"s3cret-é\", L = 's3cret' }\n\n[mcpServers.b]\nurl = \"http://h\"\n\
                    headers.X = \"\"\"\ns3cret\ns3cret\"\"\"\n\n[[auth.tokens]]\ntoken = \"s3cret-of-length-3\"\nsub = \"ann\"\n";
        for (file, text) in [("proxy.yaml", yaml), ("proxy.json", json), ("proxy.toml", toml)] {
            for (end, _) in text.char_indices() {
                for cut in [
                    text[..end].to_owned(),
                    format!("{}{}", &text[..end], "]"),
                    format!("{} : {}", &text[..end], &text[end..]),
                ] {
                    let shown = match load_text(Path::new(file), &cut, &environment) {
                        Ok((config, warnings)) => format!("{config:?} {warnings:?}"),
                        Err(errors) => {
                            format!("{errors:?} {}", errors.iter().map(ToString::to_string).collect::<String>())
                        }
                    };
                    assert!(!shown.contains("s3cret"), "{cut}\n{shown}");
                }
            }
        }
    }

    #[test]
    fn deep_yaml_is_refused() {
        assert_eq!(errors(&"[".repeat(100_000)).len(), 1);
        assert_eq!(errors(&"- ".repeat(10_000)).len(), 1);
    }
}
