//! A session that is tested: the real script, surface and calls, over servers that exist only in the test.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::{Map, Value as Json, json};
use starlark::eval::Evaluator;

use super::exchange;
use super::host::line;
use super::person::Person;
use super::world::TestWorld;
use crate::calls::{CallFault, Caller, Calls, TestOverrides};
use crate::diagnostic::nearest;
use crate::json::{Raw, RawRef, raw};
use crate::model::ItemKind;
use crate::script::{LogLevel, ScriptError};
use crate::surface::Surface;

/// What somebody wrote down, for others to read.
pub(super) type Record = Arc<Mutex<Vec<Json>>>;

pub(super) fn read(record: &Record) -> MutexGuard<'_, Vec<Json>> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Session {
    pub world: Arc<TestWorld>,
    pub surface: Arc<Surface>,
    pub calls: Calls,
    /// Who makes every request.
    pub caller: Caller,
    pub person: Arc<Person>,
    /// What has reached each server.
    pub reached: Vec<(String, Record)>,
    pub log: Record,
}

impl Session {
    /// What a client sees in a list, in its order.
    pub(super) fn list(&self, kind: ItemKind) -> Json {
        serde_json::from_str(self.surface.list(kind)).unwrap_or_default()
    }

    /// What has reached a server.
    pub(super) fn reached(&self, backend: &str) -> Result<Json, ScriptError> {
        let found = self.reached.iter().find(|(name, _)| name == backend);
        let (_, record) = found.ok_or_else(|| {
            let names: Vec<&str> = self.reached.iter().map(|(name, _)| name.as_str()).collect();
            let complaint = ScriptError::new(format!("the session has no server `{backend}`"));
            complaint.hint(format!("it has {}", names.join(", ")))
        })?;
        Ok(Json::Array(read(record).clone()))
    }

    /// Uses something that is published, as a client does.
    pub(super) fn request(
        &self,
        kind: ItemKind,
        key: &str,
        arguments: Option<&Json>,
        eval: &mut Evaluator<'_, '_, '_>,
    ) -> starlark::Result<Raw> {
        let mut params = json!({ kind.use_member(): key });
        if let Some(arguments) = arguments {
            params["arguments"] = arguments.clone();
        }
        let (calls, surface, caller) = (self.calls.clone(), Arc::clone(&self.surface), self.caller.clone());
        let (name, params) = (key.to_owned(), raw(&params));
        let outcome =
            exchange::wait_for(
                &self.world,
                eval,
                async move { calls.item(&surface, kind, &name, params, caller).await },
            )?;
        if let Some(question) = self.person.unanswered() {
            return Err(ScriptError::new(format!("`{key}` asked {question:?}, and no answer is left"))
                .hint("give one for every question: `testing.session(..., answers = [{\"action\": \"accept\"}])`")
                .into());
        }
        outcome.map_err(|fault| self.refused(kind, key, fault).into())
    }

    fn refused(&self, kind: ItemKind, key: &str, fault: CallFault) -> ScriptError {
        match fault {
            CallFault::Unknown => {
                let complaint = ScriptError::new(format!("unknown {}: {key}", kind.noun()));
                let list = self.list(kind);
                let member = kind.use_member();
                let names: Vec<&str> =
                    list.as_array().into_iter().flatten().filter_map(|item| item[member].as_str()).collect();
                match nearest(key, names.iter().copied()) {
                    Some(near) => complaint.hint(format!("did you mean `{near}`?")),
                    None if names.is_empty() => complaint.hint(format!("no {} is published", kind.noun())),
                    None => complaint.hint(format!("there is {}", names.join(", "))),
                }
            }
            CallFault::Failed { message, .. } => ScriptError::new(message),
            CallFault::Backend(error) => ScriptError::new(error.to_string()),
            CallFault::Asks(_) => ScriptError::new("the call waits for an answer"),
            CallFault::Cancelled => ScriptError::new("the call was cancelled"),
        }
    }
}

/// What a tested session has around it: all of it is the test's.
pub(super) struct TestSurroundings {
    pub world: Arc<TestWorld>,
    pub log: Record,
}

impl TestOverrides for TestSurroundings {
    fn now(&self) -> SystemTime {
        self.world.clock.now()
    }

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Json>) {
        let mut entry = json!({"level": level.as_str(), "message": message});
        for (name, value) in fields {
            entry[name] = value.clone();
        }
        read(&self.log).push(entry);
        self.world.print(line(level, message, fields));
    }

    fn stands_in(&self, kind: &str, request: &RawRef) -> Option<Result<Raw, String>> {
        let elsewhere = |name: &str, argument: &Json| {
            let called = self.world.exchange.call(name, argument.clone());
            crate::fiber::wait(called, &self.world.runtime).ok_or_else(|| "the test is over".to_owned())
        };
        self.world.stands_in(kind, request, elsewhere)
    }
}
