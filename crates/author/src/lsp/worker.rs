//! Checks documents on a separate thread, so that a check never delays requests. Only the newest text of a document is
//! checked.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use lsp_server::Notification;
use lsp_types::notification::{Notification as _, PublishDiagnostics};
use lsp_types::{PublishDiagnosticsParams, Uri};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::connection::ClientOutput;
use super::diagnose;
use super::document::OpenDocument;
use super::workspace::{Workspace, WorkspaceState};

pub(super) struct CheckWorker(Arc<WorkerShared>);

struct WorkerShared {
    queue: Mutex<CheckQueue>,
    changed: Condvar,
}

struct CheckQueue {
    workspace: Workspace,
    /// Documents to check, by URI. A newer text replaces an older one.
    documents: HashMap<String, OpenDocument>,
    /// Loaded on first use; None if it must be loaded again.
    state: Option<WorkspaceState>,
    closed: bool,
}

impl CheckWorker {
    pub(super) fn start(workspace: Workspace, output: ClientOutput) -> io::Result<CheckWorker> {
        let queue = CheckQueue { workspace, documents: HashMap::new(), state: None, closed: false };
        let shared = Arc::new(WorkerShared { queue: Mutex::new(queue), changed: Condvar::new() });
        let worker = Arc::clone(&shared);
        std::thread::Builder::new().name("checks".to_owned()).spawn(move || worker.run(&output))?;
        Ok(CheckWorker(shared))
    }

    pub(super) fn check(&self, document: OpenDocument) {
        self.0.queue().documents.insert(document.uri.as_str().to_owned(), document);
        self.0.changed.notify_one();
    }

    /// Removes a document from the queue.
    pub(super) fn cancel(&self, uri: &Uri) {
        self.0.queue().documents.remove(uri.as_str());
    }

    pub(super) fn set_folder(&self, folder: PathBuf) {
        let mut queue = self.0.queue();
        queue.workspace.folder = folder;
        queue.state = None;
    }

    /// Loads the config again on the next use, because a saved file may have changed it.
    pub(super) fn reload_workspace(&self) {
        self.0.queue().state = None;
    }

    /// The current state of the workspace. Loads it if necessary.
    pub(super) fn workspace_state(&self) -> WorkspaceState {
        self.0.workspace_state()
    }
}

impl Drop for CheckWorker {
    fn drop(&mut self) {
        self.0.queue().closed = true;
        self.0.changed.notify_one();
    }
}

impl WorkerShared {
    fn queue(&self) -> MutexGuard<'_, CheckQueue> {
        self.queue.lock()
    }

    fn workspace_state(&self) -> WorkspaceState {
        let workspace = {
            let queue = self.queue();
            if let Some(state) = &queue.state {
                return state.clone();
            }
            queue.workspace.clone()
        };
        let state = workspace.load();
        self.queue().state = Some(state.clone());
        state
    }

    fn run(&self, output: &ClientOutput) {
        while let Some((open, workspace)) = self.next() {
            let diagnostics = diagnose::diagnose(&open.document, &self.workspace_state(), &workspace);
            // If a newer text is queued, the diagnostics are outdated.
            if !self.queue().documents.contains_key(open.uri.as_str()) {
                publish(output, open.uri, Some(open.version), diagnostics);
            }
        }
    }

    /// Waits for the next document to check. Returns None when the worker has been dropped.
    fn next(&self) -> Option<(OpenDocument, Workspace)> {
        let mut queue = self.queue();
        loop {
            if queue.closed {
                return None;
            }
            let first = queue.documents.keys().next().cloned();
            if let Some(document) = first.and_then(|uri| queue.documents.remove(&uri)) {
                return Some((document, queue.workspace.clone()));
            }
            self.changed.wait(&mut queue);
        }
    }
}

pub(super) fn publish(output: &ClientOutput, uri: Uri, version: Option<i32>, diagnostics: Vec<lsp_types::Diagnostic>) {
    let params = PublishDiagnosticsParams { uri, diagnostics, version };
    output.send(Notification::new(PublishDiagnostics::METHOD.to_owned(), params));
}
