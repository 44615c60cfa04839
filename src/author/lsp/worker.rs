//! Checks open files on a thread of its own, always the newest text: nobody who types waits for a check.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::document::Document;
use super::world::{Workspace, World};
use super::{Output, diagnose, send};

pub(super) struct Worker(Arc<Shared>);

struct Shared {
    orders: Mutex<Orders>,
    more: Condvar,
}

struct Orders {
    workspace: Workspace,
    /// Files to look at, by address: a newer text takes the place of an older one.
    waiting: HashMap<String, Document>,
    world: Option<World>,
    over: bool,
}

impl Worker {
    pub(super) fn start(workspace: Workspace, output: Output) -> io::Result<Worker> {
        let orders = Orders { workspace, waiting: HashMap::new(), world: None, over: false };
        let shared = Arc::new(Shared { orders: Mutex::new(orders), more: Condvar::new() });
        let own = Arc::clone(&shared);
        std::thread::Builder::new().name("checks".to_owned()).spawn(move || own.run(&output))?;
        Ok(Worker(shared))
    }

    pub(super) fn check(&self, document: Document) {
        self.0.orders().waiting.insert(document.uri.clone(), document);
        self.0.more.notify_one();
    }

    pub(super) fn forget(&self, uri: &str) {
        self.0.orders().waiting.remove(uri);
    }

    /// The workspace is somewhere else.
    pub(super) fn look_in(&self, folder: PathBuf) {
        let mut orders = self.0.orders();
        orders.workspace.folder = folder;
        orders.world = None;
    }

    /// Something was saved: the config may be another.
    pub(super) fn look_again(&self) {
        self.0.orders().world = None;
    }

    /// What the files are about; looked for now if nobody has yet.
    pub(super) fn world(&self) -> World {
        self.0.world()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.orders().over = true;
        self.0.more.notify_one();
    }
}

impl Shared {
    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn world(&self) -> World {
        let workspace = {
            let orders = self.orders();
            if let Some(world) = &orders.world {
                return world.clone();
            }
            orders.workspace.clone()
        };
        let world = workspace.look();
        self.orders().world = Some(world.clone());
        world
    }

    fn run(&self, output: &Output) {
        while let Some((document, workspace)) = self.next() {
            let world = self.world();
            let found = diagnose::diagnose(&document, &world, &workspace);
            // Another text came meanwhile: what was found is about one that is gone.
            if !self.orders().waiting.contains_key(&document.uri) {
                publish(output, &document.uri, document.version, &found);
            }
        }
    }

    fn next(&self) -> Option<(Document, Workspace)> {
        let mut orders = self.orders();
        loop {
            if orders.over {
                return None;
            }
            let first = orders.waiting.keys().next().cloned();
            if let Some(document) = first.and_then(|uri| orders.waiting.remove(&uri)) {
                return Some((document, orders.workspace.clone()));
            }
            orders = self.more.wait(orders).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

pub(super) fn publish(output: &Output, uri: &str, version: Option<i64>, found: &[Value]) {
    let mut params = json!({"uri": uri, "diagnostics": found});
    if let Some(version) = version {
        params["version"] = version.into();
    }
    send(output, &json!({"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params}));
}
