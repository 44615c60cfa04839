//! What `client()` returns at the top level. Records what is read of the client: a script that reads only what the client
//! accepts runs once for each row of limits, and not for each client.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use serde_json::json;
use starlark::environment::{Methods, MethodsBuilder};
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};
use starlark::{starlark_module, starlark_simple_value};

use super::world::{Notes, World};
use proxy_dialects::Dialect;
use proxy_model::ClientInfo;
use proxy_script::convert;

#[derive(Debug, ProvidesStaticType, StarlarkPagablePanic, Allocative)]
pub struct ClientValue {
    #[allocative(skip)]
    client: Arc<ClientInfo>,
    #[allocative(skip)]
    dialect: Option<Arc<Dialect>>,
    #[allocative(skip)]
    notes: Arc<Mutex<Notes>>,
    /// Tells whether the value outlives the run.
    #[allocative(skip)]
    counted: Arc<()>,
}

starlark_simple_value!(ClientValue);

impl ClientValue {
    /// The client for which the script runs.
    pub(super) fn of(world: &World) -> Self {
        ClientValue {
            client: Arc::clone(&world.surface_key.client),
            dialect: world.dialect().cloned(),
            counted: Arc::clone(&world.notes().client_values),
            notes: world.shared_notes(),
        }
    }

    /// The client, which is not that of everybody who has its row.
    fn read(&self) -> &ClientInfo {
        self.notes.lock().personal = true;
        &self.client
    }
}

impl fmt::Display for ClientValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<client {}>", self.read().name())
    }
}

impl Serialize for ClientValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let client = self.read();
        let facts = json!({
            "name": client.name(),
            "version": client.version(),
            "protocol_version": client.protocol_version,
            "capabilities": client.capabilities(),
            "dialect": dialect_members(self.dialect.as_deref())
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<serde_json::Map<_, _>>(),
        });
        facts.serialize(serializer)
    }
}

starlark::methods_static!(CLIENT_METHODS = client_members);

#[starlark_value(type = "client")]
impl<'v> StarlarkValue<'v> for ClientValue {
    fn get_methods() -> Option<&'static Methods> {
        Some(CLIENT_METHODS.methods())
    }
}

#[starlark_module]
fn client_members(builder: &mut MethodsBuilder) {
    #[starlark(attribute)]
    fn name<'v>(this: &ClientValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.read().name()))
    }

    #[starlark(attribute)]
    fn version<'v>(this: &ClientValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.read().version()))
    }

    #[starlark(attribute)]
    fn protocol_version(this: &ClientValue) -> starlark::Result<&'static str> {
        Ok(this.read().protocol_version)
    }

    #[starlark(attribute)]
    fn capabilities<'v>(this: &ClientValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(convert::to_starlark(&this.read().capabilities(), heap)?)
    }

    #[starlark(attribute)]
    fn dialect<'v>(this: &ClientValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        this.notes.lock().reads_row = true;
        Ok(dialect_struct(this.dialect.as_deref(), heap))
    }
}

/// What a client accepts, as the struct that scripts get.
pub(super) fn dialect_struct<'v>(dialect: Option<&Dialect>, heap: Heap<'v>) -> Value<'v> {
    let members = dialect_members(dialect).into_iter().map(|(name, value)| {
        let value = match value {
            serde_json::Value::String(text) => heap.alloc(text),
            serde_json::Value::Number(number) => {
                let number = number.as_u64().and_then(|number| i32::try_from(number).ok());
                number.map_or_else(Value::new_none, |number| heap.alloc(number))
            }
            _ => Value::new_none(),
        };
        (name, value)
    });
    heap.alloc(AllocStruct(members.collect::<Vec<_>>()))
}

fn dialect_members(dialect: Option<&Dialect>) -> [(&'static str, serde_json::Value); 5] {
    let limits = dialect.map(|dialect| &dialect.limits);
    [
        ("row", json!(dialect.map(|dialect| dialect.row.to_string()))),
        ("tools", json!(limits.and_then(|limits| limits.tools))),
        ("name_length", json!(dialect.and_then(Dialect::own_name_length))),
        ("description_length", json!(limits.and_then(|limits| limits.description_length))),
        ("result_tokens", json!(limits.and_then(|limits| limits.result.map(|result| result.tokens)))),
    ]
}
