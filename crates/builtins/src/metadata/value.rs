//! The Starlark value `metadata`: the definition of a tool, resource, resource template or prompt. Values are immutable;
//! `.replace()` makes a changed copy.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use allocative::Allocative;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use starlark::collections::SmallMap;
use starlark::environment::{Methods, MethodsBuilder};
use starlark::eval::Evaluator;
use starlark::values::list::ListRef;
use starlark::values::none::NoneOr;
use starlark::values::structs::AllocStruct;
use starlark::values::{
    Heap, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use super::fields::{NAMED, field, fields, member};
use crate::metadata::carrier::Carrier;
use crate::session::World;
use crate::session::provenance::DefinitionEdit;
use proxy_json::{Raw, raw};
use proxy_model::flow::{Labels, check_label};
use proxy_model::lock::{ItemLock, ItemState, ViewLock};
use proxy_model::{Definition, ItemKind, ItemRef, ToolChecks};
use proxy_script::{Context, ScriptError, convert, script_error};

#[derive(Debug, ProvidesStaticType, StarlarkPagablePanic, Allocative)]
pub struct Metadata {
    #[allocative(skip)]
    pub kind: ItemKind,
    #[allocative(skip)]
    pub definition: Arc<Definition>,
    /// The definition before any change; `digest()` covers this one.
    #[allocative(skip)]
    pub original: Arc<Definition>,
    #[allocative(skip)]
    /// The backend item that it describes; None if the script made the metadata.
    pub origin: Option<ItemRef>,
    /// The arguments that `bind()` filled in: its handler ignores what a client sends for them.
    #[allocative(skip)]
    pub bound: Arc<[String]>,
    /// The index that the tool fronts; None for an ordinary tool.
    #[allocative(skip)]
    pub carrier: Option<Arc<Carrier>>,
    /// What the script changed of the definition, and where.
    #[allocative(skip)]
    pub edits: Arc<[DefinitionEdit]>,
    /// How long one call of the script's own handler may take without progress.
    #[allocative(skip)]
    pub timeout: Option<Duration>,
    /// How its server's lists compare with the lock; None if the server is not locked.
    #[allocative(skip)]
    pub lock: Option<Arc<ViewLock>>,
    /// The labels that the script has set, for flow rules; None if it says nothing.
    #[allocative(skip)]
    pub labels: Option<Labels>,
    #[allocative(skip)]
    pub(super) checks: OnceLock<Arc<ToolChecks>>,
}

starlark_simple_value!(Metadata);

impl Metadata {
    /// An item that a backend lists. `lock` is that of the backend.
    pub fn of_backend(definition: Arc<Definition>, origin: ItemRef, lock: Option<Arc<ViewLock>>) -> Self {
        Metadata { lock, ..Metadata::unchanged(origin.kind, definition, Some(origin)) }
    }

    pub fn of_script(kind: ItemKind, definition: Definition) -> Self {
        Metadata::unchanged(kind, Arc::new(definition), None)
    }

    fn unchanged(kind: ItemKind, definition: Arc<Definition>, origin: Option<ItemRef>) -> Self {
        Metadata {
            kind,
            original: Arc::clone(&definition),
            definition,
            origin,
            bound: Arc::default(),
            carrier: None,
            edits: Arc::default(),
            timeout: None,
            lock: None,
            labels: None,
            checks: OnceLock::new(),
        }
    }

    pub fn has_original_key(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.name.as_ref() == self.definition.key())
    }

    /// A copy with the given members of the definition set or, for None, removed.
    pub fn with(&self, changes: &[(&str, Option<Raw>)]) -> starlark::Result<Metadata> {
        let definition = self.definition.with(self.kind, changes).map_err(|error| script_error(error.to_string()))?;
        Ok(Metadata {
            kind: self.kind,
            definition: Arc::new(definition),
            original: self.original.clone(),
            origin: self.origin.clone(),
            bound: self.bound.clone(),
            carrier: self.carrier.clone(),
            edits: self.edits.clone(),
            timeout: self.timeout,
            lock: self.lock.clone(),
            labels: self.labels.clone(),
            checks: OnceLock::new(),
        })
    }

    /// Adds labels for flow rules. What a script says at its top level about an item of a server holds for that item
    /// wherever the script uses it.
    fn add_labels(&mut self, labels: Labels, eval: &Evaluator<'_, '_, '_>) {
        let all = self.labels.take().unwrap_or_default().with(&labels);
        self.labels = Some(all.clone());
        let Ok(context) = Context::of(eval) else { return };
        if !context.is_top_level() {
            return;
        }
        if let (Some(world), Some(origin)) = (context.world::<World>(), &self.origin) {
            let mut notes = world.notes();
            let known = notes.labels.entry(origin.clone()).or_default();
            *known = known.with(&all);
        }
    }

    /// Records that the current built-in has changed these members, and why if the script says so. In a handler nothing is
    /// recorded: what is published is decided at the top level.
    pub fn record_edit(&mut self, members: &[&'static str], why: Option<&str>, eval: &Evaluator<'_, '_, '_>) {
        let Ok(context) = Context::of(eval) else { return };
        if let Some(world) = context.world::<World>().filter(|_| context.is_top_level()) {
            self.edits = world.notes().provenance.edits(&self.edits, members, why, eval);
        }
    }

    /// What the lock says of the item in the backend's list; None if it is not locked.
    fn item_lock(&self) -> Option<&ItemLock> {
        let origin = self.origin.as_ref()?;
        self.lock.as_ref()?.item(origin.kind, &origin.name)
    }

    /// The value of a field as scripts see it; None if this kind of item has no such field.
    fn field_value(&self, name: &str) -> Option<Json> {
        let field = fields(self.kind).find(|field| field.name == name)?;
        let value = self.definition.member(field.member).filter(|value| field.kind.accepts(value));
        Some(value.unwrap_or_else(|| field.kind.absent()))
    }
}

impl fmt::Display for Metadata {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<metadata {}>", self.definition.key())
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json: Json = serde_json::from_str(self.definition.raw().get()).map_err(serde::ser::Error::custom)?;
        json.serialize(serializer)
    }
}

starlark::methods_static!(METADATA_METHODS = metadata_members);

#[starlark_value(type = "metadata")]
impl<'v> StarlarkValue<'v> for Metadata {
    fn get_methods() -> Option<&'static Methods> {
        Some(METADATA_METHODS.methods())
    }

    /// Fields are not methods, because each kind of item has its own, and `hasattr` must tell which.
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        if attribute == "original_name" {
            return NAMED.contains(&self.kind).then(|| heap.alloc(self.original.key()));
        }
        convert::to_starlark(&self.field_value(attribute)?, heap).ok()
    }

    fn set_attr(&self, attribute: &str, _: Value<'v>) -> starlark::Result<()> {
        let field = field(self.kind, attribute)?;
        Err(ScriptError::new(format!("`.{}` cannot be set: metadata cannot be changed", field.name))
            .hint(format!("make a changed copy: `meta = meta.replace({} = ...)`", field.name))
            .into())
    }

    fn dir_attr(&self) -> Vec<String> {
        let own = fields(self.kind).map(|field| field.name);
        own.chain(NAMED.contains(&self.kind).then_some("original_name")).map(str::to_owned).collect()
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<Metadata>().is_some_and(|other| {
            self.kind == other.kind && self.origin == other.origin && self.definition == other.definition
        }))
    }
}

/// The definition of a tool, resource, resource template or prompt. Dicts and lists read from it are copies; use
/// `.replace()` to change something.
#[starlark_module]
fn metadata_members(builder: &mut MethodsBuilder) {
    /// The name of the item's backend, or None if the script created the metadata.
    #[starlark(attribute)]
    fn backend_id<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(this.origin.as_ref().map_or(Value::new_none(), |origin| heap.alloc(origin.backend.as_ref())))
    }

    /// How the item compares with what an operator approved with `proxy lock`: a struct with `state`, `changed` (the
    /// members that differ, a list) and `live` (what the server says now, if it differs, or None). The state is `"same"`,
    /// `"changed"` (published as approved), `"held"` (changed so that calls are refused), `"new"` (not approved) or
    /// `"unlocked"` (there is no lock, or its server is not in it).
    #[starlark(attribute)]
    fn lock<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let lock = this.item_lock();
        let state = lock.map_or(ItemState::Unlocked, |lock| lock.state);
        let changed = lock.map(|lock| lock.changed.clone()).unwrap_or_default();
        let live = lock.zip(this.origin.as_ref()).filter(|(lock, _)| !lock.changed.is_empty());
        let live = live.map_or(Value::new_none(), |(lock, origin)| {
            heap.alloc(Metadata::of_backend(Arc::clone(&lock.live), origin.clone(), this.lock.clone()))
        });
        let members = [("state", heap.alloc(state.as_str())), ("changed", heap.alloc(changed)), ("live", live)];
        Ok(heap.alloc(AllocStruct(members)))
    }

    /// The labels that the script has set with `.replace(labels = [...])`, a list. Those of the config (`flow.labels`) are
    /// not in it.
    #[starlark(attribute)]
    fn labels<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let labels: Vec<&str> = this.labels.iter().flat_map(Labels::iter).map(AsRef::as_ref).collect();
        Ok(heap.alloc(labels))
    }

    /// Returns a copy with the given fields changed. All other members are kept, including unknown ones. `why` is the
    /// reason for the change, which `proxy explain` and the console show.
    ///
    /// `labels` adds labels for the rules of the config's `flow` section. They also hold for the server's item, so a tool
    /// that calls it cannot shed them. With `labels = []`, the item has no labels of its own, not even derived ones.
    /// Clients never see labels.
    ///
    /// ```python
    /// meta.replace(name = "github_" + meta.name, description = "...")
    /// ```
    fn replace<'v>(
        this: &Metadata,
        #[starlark(require = named, default = NoneOr::None)] why: NoneOr<&str>,
        #[starlark(kwargs)] fields: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Metadata> {
        let heap = eval.heap();
        let mut changes = Vec::new();
        let mut labels = None;
        for (name, value) in &fields {
            if name == "labels" {
                labels = Some(labels_of(*value)?);
                continue;
            }
            let field = field(this.kind, name)?;
            changes.push((field.member, member(field, *value, heap)?.map(|json| raw(&json))));
        }
        let mut changed = this.with(&changes)?;
        let members: Vec<&'static str> = changes.iter().map(|(member, _)| *member).collect();
        if !members.is_empty() || labels.is_none() {
            changed.record_edit(&members, why.into_option(), eval);
        }
        if let Some(labels) = labels {
            changed.add_labels(labels, eval);
        }
        Ok(changed)
    }
}

/// The value of `labels`: a list of words.
pub(crate) fn labels_of(value: Value<'_>) -> starlark::Result<Labels> {
    let wrong = || {
        ScriptError::new(format!("`labels` must be a list of strings, not a `{}`", value.get_type()))
            .hint("`labels = [\"untrusted\"]`")
    };
    let list = ListRef::from_value(value).ok_or_else(wrong)?;
    let mut labels: Vec<Arc<str>> = Vec::new();
    for label in list.iter() {
        let label = label.unpack_str().ok_or_else(wrong)?;
        check_label(label).map_err(script_error)?;
        labels.push(label.into());
    }
    Ok(labels.into_iter().collect())
}
