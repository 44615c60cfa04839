//! What one person sees is shown to nobody else, and a client's token is shown to one token endpoint only.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Desk, client, tools};
use crate::support::issuer::{AUDIENCE, Issuer};
use crate::support::message;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::token_endpoint::TokenEndpoint;

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let paths = entries.map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).filter(|path| path.is_file()).collect()
}

#[tokio::test]
async fn a_list_of_one_person_is_not_found_by_another() {
    let desk = Desk::start().await;
    let config = desk.config("", "sessionInit: {preset: optimizer}");
    let proxy = Proxy::new(&config).http().await;
    let find = r#"{"query": "only_ann of the desk", "tool_description": "only_ann of the desk"}"#;
    let mut found = Vec::new();
    for sub in ["ann", "bob"] {
        let mut caller = client(&proxy, &desk.issuer.token(sub));
        let listed = caller.modern("tools/list", "{}").await.result();
        let answer = caller.modern("tools/call", &message::call("find_tool", find)).await.result();
        let called = message::call("call_tool", r#"{"tool_name": "only_ann", "parameters": {}}"#);
        found.push((listed, answer, caller.modern("tools/call", &called).await.result()));
    }
    let [(_, of_ann, called_by_ann), (listed, of_bob, called_by_bob)] = found.as_slice() else { panic!("two people") };
    assert!(of_ann.contains("only_ann") && called_by_ann.contains("ann called only_ann"), "{of_ann} {called_by_ann}");
    assert!(of_bob.contains("only_bob"), "{of_bob}");
    let bobs = [listed, of_bob];
    assert!(!bobs.iter().any(|text| text.contains("only_ann")), "{bobs:?}");
    assert!(!called_by_bob.contains("called only_ann"), "{called_by_bob}");
    assert_eq!(desk.server.count("tools/call"), 1);
    for file in files(proxy.world.directory.path()) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap_or_default()).into_owned();
        assert!(!text.contains("only_ann"), "{}", file.display());
    }
}

/// Publishes everything, and says all that it knows of its caller.
const SCRIPT: &str = r#"
def on_request(request):
    log("who", request = str(request))
def whoami(args):
    return str(current_user()) + str(client())
publish(metadata("whoami", "Says who calls", {"type": "object"}, {}), whoami)
for backend in backends().values():
    for meta, call in backend.tools():
        publish(meta, call)
"#;

#[tokio::test]
async fn a_clients_token_reaches_one_token_endpoint_and_nothing_else() {
    // Given a second issuer with a token endpoint of its own, a process, and a script
    let desk = Desk::start().await;
    let (other, elsewhere) = (Issuer::start().await, TokenEndpoint::start().await);
    let second = json!({"auth": {"type": "tokenExchange", "tokenUrl": elsewhere.url, "clientId": "proxy",
        "clientSecret": "secret-of-the-proxy", "subjectIssuer": other.url}});
    let config = desk
        .config("", "sessionInit: {scriptFile: policy.star}")
        .server("fake", &fake_backend(["--era", "legacy", "--only", "echo,env"]))
        .remote_with("second", &desk.server.url, second);
    let both = format!("issuers: [{{issuer: '{}', audiences: ['{AUDIENCE}'], prefix: 'other:'}}, ", other.url);
    let proxy = Proxy::with_config_text(&config.text().replace("issuers: [", &both));
    let proxy = proxy.file("policy.star", SCRIPT).argument("--log=trace").http().await;
    // When a person uses all of it, in both eras
    let ann = desk.issuer.token("ann");
    let mut caller = client(&proxy, &ann);
    caller.initialize("2025-11-25").await.result();
    let mut answers = vec![caller.request("tools/list", "{}").await.result()];
    assert!(answers[0].contains("only_ann"), "{}", answers[0]);
    for tool in ["whoami", "common", "only_ann", "echo", "env"] {
        answers.push(caller.call(tool, "{}").await.result());
        answers.push(caller.modern_call(tool, "{}").await.result());
    }
    let status = proxy.world.run(["status", "--json"]).await.expect(0).stdout;
    // Then nobody but the token endpoint of its issuer has seen the token
    let signature = ann.rsplit_once('.').expect("a JWT").1;
    assert_eq!(desk.endpoint.seen().len(), 1);
    assert!(elsewhere.seen().is_empty(), "{:?}", elsewhere.seen());
    for visit in desk.server.visits() {
        assert!(!visit.text.contains(signature), "{}", visit.text);
        assert!(visit.authorization.is_some_and(|shown| shown.starts_with("Bearer exchanged-ann-")));
    }
    let log = proxy.program.stderr.text();
    assert!(log.contains("TRACE") || log.contains("trace"), "the log is that of a whole run: {log}");
    for secret in [signature, "exchanged-ann", "secret-of-the-proxy"] {
        assert!(!log.contains(secret), "the log has {secret}");
        assert!(!status.contains(secret), "the status has {secret}");
        assert!(!answers.iter().any(|answer| answer.contains(secret)), "an answer has {secret}");
    }
    for file in files(proxy.world.directory.path()).into_iter().filter(|file| !file.ends_with("proxy.yaml")) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap_or_default()).into_owned();
        assert!(!text.contains(signature) && !text.contains("exchanged-ann"), "{}", file.display());
    }
    let _ = tools(&proxy, &ann).await;
}
