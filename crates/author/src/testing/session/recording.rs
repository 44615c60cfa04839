//! A shared list of JSON values that grows during a test, for example the calls that reached a server.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedValues(Arc<Mutex<Vec<Value>>>);

impl RecordedValues {
    fn lock(&self) -> MutexGuard<'_, Vec<Value>> {
        self.0.lock()
    }

    pub(crate) fn push(&self, value: Value) {
        self.lock().push(value);
    }

    /// The values so far, as a JSON array.
    pub(crate) fn to_json(&self) -> Value {
        Value::Array(self.lock().clone())
    }
}
