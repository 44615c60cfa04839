//! `config()`: the settings that scripts may read. Records which sections were read.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use starlark::environment::{GlobalsBuilder, Methods, MethodsBuilder};
use starlark::eval::Evaluator;
use starlark::values::{Heap, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};
use starlark::{starlark_module, starlark_simple_value};

use super::settings::Settings;
use super::world::{Notes, World};
use proxy_base::diagnostic::nearest;
use proxy_script::{ScriptError, convert, script_error};

/// A read-only dict that records which keys are read: the proxy warns about sections that are set but never read.
#[derive(Debug, ProvidesStaticType, StarlarkPagablePanic, Allocative)]
pub struct ConfigValue {
    #[allocative(skip)]
    settings: Arc<Settings>,
    #[allocative(skip)]
    notes: Arc<Mutex<Notes>>,
}

starlark_simple_value!(ConfigValue);

impl ConfigValue {
    fn record_read(&self, key: &str) {
        let mut notes = self.notes.lock();
        notes.sections_read.insert(key.to_owned());
    }

    fn record_all_read(&self) {
        self.settings.sections.keys().for_each(|key| self.record_read(key));
    }

    fn section<'v>(&self, key: &str, heap: Heap<'v>) -> starlark::Result<Option<Value<'v>>> {
        self.record_read(key);
        Ok(self.settings.sections.get(key).map(|section| convert::to_starlark(section, heap)).transpose()?)
    }

    fn pairs<'v>(&self, heap: Heap<'v>) -> starlark::Result<Vec<(Value<'v>, Value<'v>)>> {
        self.record_all_read();
        let sections = self.settings.sections.iter();
        sections.map(|(key, section)| Ok((heap.alloc(key.as_str()), convert::to_starlark(section, heap)?))).collect()
    }
}

impl fmt::Display for ConfigValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.settings.sections.keys().map(String::as_str).collect();
        write!(formatter, "<config {}>", keys.join(", "))
    }
}

impl Serialize for ConfigValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.record_all_read();
        self.settings.sections.serialize(serializer)
    }
}

starlark::methods_static!(CONFIG_METHODS = config_members);

#[starlark_value(type = "config")]
impl<'v> StarlarkValue<'v> for ConfigValue {
    fn get_methods() -> Option<&'static Methods> {
        Some(CONFIG_METHODS.methods())
    }

    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let key = index.unpack_str().ok_or_else(|| script_error("the keys of config() are strings"))?;
        if let Some(section) = self.section(key, heap)? {
            return Ok(section);
        }
        let error = ScriptError::new(format!("config() has no section `{key}`"));
        let near = nearest(key, self.settings.sections.keys().map(String::as_str));
        Err(match near {
            Some(near) => error.hint(format!("did you mean `{near}`?")).into(),
            None => error.into(),
        })
    }

    fn set_at(&self, _: Value<'v>, _: Value<'v>) -> starlark::Result<()> {
        Err(ScriptError::new("`config()` cannot be changed")
            .hint("keep a copy and change that: `params = config()[\"params\"]`, then `params[...] = ...`")
            .into())
    }

    fn is_in(&self, other: Value<'v>) -> starlark::Result<bool> {
        let Some(key) = other.unpack_str() else { return Ok(false) };
        self.record_read(key);
        Ok(self.settings.sections.contains_key(key))
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(self.settings.sections.len()).unwrap_or(i32::MAX))
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        self.record_all_read();
        Ok(self.settings.sections.keys().map(|key| heap.alloc(key.as_str())).collect())
    }
}

/// The settings that a script may read: `config()["params"]`, `config().get("aggregation", {})`.
#[starlark_module]
fn config_members(builder: &mut MethodsBuilder) {
    /// Returns a section, or the default if it does not exist.
    fn get<'v>(
        this: &ConfigValue,
        #[starlark(require = pos)] key: &str,
        #[starlark(require = pos)] default: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        Ok(this.section(key, heap)?.unwrap_or_else(|| default.unwrap_or_else(Value::new_none)))
    }

    /// Returns the names of all sections. Counts as reading them.
    fn keys<'v>(this: &ConfigValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.pairs(heap)?.into_iter().map(|(key, _)| key).collect::<Vec<_>>()))
    }

    /// Returns all sections. Counts as reading them.
    fn values<'v>(this: &ConfigValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.pairs(heap)?.into_iter().map(|(_, value)| value).collect::<Vec<_>>()))
    }

    /// Returns all sections with their names. Counts as reading them.
    fn items<'v>(this: &ConfigValue, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.pairs(heap)?.into_iter().map(|pair| heap.alloc(pair)).collect::<Vec<_>>()))
    }
}

#[starlark_module]
pub fn register_config(builder: &mut GlobalsBuilder) {
    /// Returns the settings that scripts may read, as a dict: config sections like `aggregation` with defaults filled
    /// in, and `params`, the script's own settings (`sessionInit.params` in the config). The rest of the config is not
    /// visible.
    fn config<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<ConfigValue> {
        let world = World::of(eval)?;
        Ok(ConfigValue { settings: world.settings.clone(), notes: world.shared_notes() })
    }
}
