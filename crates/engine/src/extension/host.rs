//! The host of an extension's handlers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

use proxy_json::{Object, Raw, RawRef, raw};
use proxy_mcp_client::{BackendCall, Cancellation};
use proxy_model::{ItemRef, error_result};
use proxy_script::{CallOptions, Effects, Host, JournalCursor, LogLevel, Output, Stop};

/// The host for a call of an extension. Questions, the store, the request and the clock are those of the caller.
pub(super) fn extension_host(call: &BackendCall, extension: &Arc<str>, namespace: &Arc<str>) -> Arc<Host> {
    let effects = Arc::new(ExtensionEffects {
        runtime: Handle::current(),
        cancel: call.cancel.clone(),
        deadline: call.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
    });
    let caller = match call.host.as_ref().and_then(|host| host.downcast_ref::<Host>()) {
        Some(caller) => Host { effects, ..caller.clone() },
        None => Host::outside_request(effects),
    };
    let output = Arc::new(ExtensionOutput { extension: Arc::clone(extension), output: Arc::clone(&caller.output) });
    Arc::new(Host { output, namespace: Arc::clone(namespace), test: None, ..caller })
}

/// An extension calls no servers, and stops with the call that it runs for.
struct ExtensionEffects {
    runtime: Handle,
    cancel: Cancellation,
    deadline: Option<Instant>,
}

impl Effects for ExtensionEffects {
    fn call(&self, _: &ItemRef, _: &RawRef, _: CallOptions, _: Option<JournalCursor>) -> Result<Raw, Stop> {
        Ok(error_result("an extension cannot call servers"))
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        let deadline = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        let wait = async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Stop::Cancelled),
                () = deadline => Err(Stop::Deadline),
                () = future => Ok(()),
            }
        };
        proxy_fiber::wait(wait, &self.runtime)
    }

    fn stopped(&self) -> Option<Stop> {
        if self.cancel.is_cancelled() {
            return Some(Stop::Cancelled);
        }
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(Stop::Deadline)
    }
}

/// The output of the caller, with the name of the extension in every line of the log.
struct ExtensionOutput {
    extension: Arc<str>,
    output: Arc<dyn Output>,
}

impl Output for ExtensionOutput {
    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        let mut fields = fields.clone();
        fields.insert("extension".to_owned(), json!(self.extension.as_ref()));
        self.output.log(level, message, &fields);
    }

    /// Logged, so that the line names the extension.
    fn print(&self, text: &str) {
        self.log(LogLevel::Info, text, &Map::new());
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        self.output.progress(done, total, message);
    }

    /// The extension is the logger.
    fn notify(&self, params: &RawRef) {
        let named = Object::of(params).map(|params| params.edit().set("logger", &raw(&*self.extension)).finish_raw());
        self.output.notify(named.as_deref().unwrap_or(params));
    }
}
