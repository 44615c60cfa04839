//! The script is the route map: a thousand operations become twelve tools.

use serde_json::json;

use super::{Api, config, entry, started};
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::Proxy;

/// A thousand operations, of which twelve are wanted: those that read one thing of each kind.
fn thousand() -> String {
    let mut text = "openapi: 3.1.0\ninfo: {title: Large, version: '1'}\npaths:\n".to_owned();
    for kind in 0..100 {
        let tag = if kind % 8 == 0 && kind < 96 { "core" } else { "other" };
        for (path, methods) in [("", &["get", "post"][..]), ("/{id}", &["get", "put", "delete"])] {
            text.push_str(&format!("  /kind{kind}{path}:\n"));
            for method in methods {
                let name = format!("{method}_kind{kind}{}", if path.is_empty() { "s" } else { "" });
                text.push_str(&format!("    {method}: {{operationId: {name}, tags: [{tag}], summary: 'x'}}\n"));
            }
        }
        text.push_str(&format!("  /old/kind{kind}:\n"));
        for method in ["get", "put", "post", "delete", "patch"] {
            text.push_str(&format!(
                "    {method}: {{operationId: old_{method}_kind{kind}, tags: [core], deprecated: true}}\n"
            ));
        }
    }
    text
}

const SCRIPT: &str = r#"
def is_wanted(meta):
    extra = meta.meta["extra"]
    return extra["method"] == "GET" and "{id}" in extra["path"] and "core" in extra["tags"] and not extra["deprecated"]

for backend in backends().values():
    if backend.kind == "openapi":
        for meta, call in backend.tools():
            if is_wanted(meta):
                publish(meta.replace(name = meta.name.removeprefix("get_")), call)
"#;

#[tokio::test]
async fn a_script_of_a_dozen_lines_makes_twelve_tools_of_a_thousand_operations() {
    let api = Api::of_pets().await;
    let config = config(entry(&api.url)).section("sessionInit: {scriptFile: routes.star}");
    let proxy = Proxy::new(&config).file("pets.yaml", &thousand()).file("routes.star", SCRIPT);
    let mut proxy = started(proxy).await;
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    let tools = proxy.tools().await;
    assert_eq!(tools.len(), 12, "{tools:?}");
    assert!(tools.contains(&"kind8".to_owned()), "{tools:?}");
    proxy.client.call("kind8", &json!({"id": "5"}).to_string()).await.result();
    assert_eq!(api.lines(), ["GET /kind8/5"]);
    let offered = proxy.status().await["servers"][0]["tools"].clone();
    assert_eq!(offered, 1000);
}
