//! The session script of a running proxy: its source, why a newer version is not in use, and its lints.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::api::{ControlApi, Refused, problem};
use proxy_author::lint::{self, Role};
use proxy_base::diagnostic::Diagnostic;
use proxy_engine::gateway::{Gateway, ScriptVersions};
use proxy_engine::surface::ScriptSource;
use proxy_wire::http::{HttpReply, SocketRequest};

impl ControlApi {
    pub(super) async fn script(&self, request: &SocketRequest) -> Result<HttpReply, Refused> {
        let gateway = Arc::clone(&self.gateway);
        // The lints parse and check every file.
        let report = tokio::task::spawn_blocking(move || report(&gateway).to_string()).await;
        let report = report.map_err(|error| problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()))?;
        Ok(self.counted(report, request).await)
    }
}

fn report(gateway: &Gateway) -> Value {
    let ScriptVersions { in_use, newest, errors } = gateway.script_versions();
    let shown = in_use.as_ref().or(newest.as_ref());
    let rejected = newest.as_ref().filter(|newest| in_use.as_ref().is_some_and(|used| !is_same(used, newest)));
    let lints =
        newest.as_ref().or(shown).map(|script| lint::with_loads(&script.source, Role::Session, Some(&script.root)));
    json!({
        "name": shown.map(|script| script.source.name.clone()),
        "digest": shown.map(|script| format!("sha256:{}", script.digest())),
        "files": shown.map(|script| files(script)).unwrap_or_default(),
        "rejected": rejected.map(|script| json!({
            "digest": format!("sha256:{}", script.digest()), "files": files(script),
        })),
        "errors": errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "userErrors": gateway.user_errors(),
        "lints": lints.unwrap_or_default().iter().map(Diagnostic::to_json).collect::<Vec<_>>(),
    })
}

/// Whether two versions have the same text, with the files that they load.
fn is_same(one: &ScriptSource, other: &ScriptSource) -> bool {
    one.source.text == other.source.text && files(one) == files(other)
}

/// The script and the files that it loads.
fn files(script: &ScriptSource) -> Vec<Value> {
    let files = lint::loaded_files(&script.source, Role::Session, Some(&script.root));
    let shown = files.iter().map(|file| {
        let path = file.path.as_ref().map(|path| path.display().to_string());
        json!({"name": file.name, "path": path, "text": &*file.text})
    });
    shown.collect()
}
