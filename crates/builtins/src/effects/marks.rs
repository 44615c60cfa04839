//! `marks()` and `mark()`: what the caller's conversation has read, for the rules of the config's `flow` section.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::AllocDict;
use starlark::values::none::NoneType;
use starlark::values::structs::AllocStruct;

use proxy_json::raw;
use proxy_model::flow::{Labels, Reading, check_label};
use proxy_script::{Context, Host, Stop, script_error};
use proxy_store::Tags;

#[starlark_module]
pub(crate) fn register_marks(builder: &mut GlobalsBuilder) {
    /// Returns what the caller's conversation has read so far, for the rules of the config's `flow` section: a dict from
    /// each label to a struct with `source` (the item that was read first) and `time` (when, as for `time.now()`). The
    /// dict is empty without the section `flow`. A request without a user or a session has every label that a rule names,
    /// with an empty `source`. Only while a call is handled.
    ///
    /// ```python
    /// def send(args):
    ///     if "secret" in marks():
    ///         return error("not after reading secrets")
    ///     return "sent"
    /// ```
    fn marks<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let found = Context::of(eval)?.effect("marks", &[], |host| {
            let Some(flow) = &host.flow else { return Ok(Ok(raw(&json!({})))) };
            Ok(flow.reading()?.map(|reading| raw(&as_json(&reading))))
        })?;
        let heap = eval.heap();
        let found: Map<String, Json> = serde_json::from_str(found.get()).unwrap_or_default();
        let found = found.iter().map(|(label, mark)| {
            let source = heap.alloc(mark["source"].as_str().unwrap_or_default());
            let time = heap.alloc(mark["at"].as_f64().unwrap_or_default() / 1000.0);
            (label.as_str(), AllocStruct([("source", source), ("time", time)]))
        });
        Ok(heap.alloc(AllocDict(found.collect::<Vec<_>>())))
    }

    /// Notes that the caller's conversation has read something with this label, such as `"untrusted"`. Use it where only
    /// the content decides: the label is stored before the result of the call reaches the client. It does nothing without
    /// the section `flow` in the config. Only while a call is handled.
    ///
    /// ```python
    /// def comment(args):
    ///     if args.get("author") != "me":
    ///         mark("untrusted")
    ///     return args.get("text", "")
    /// ```
    fn mark<'v>(
        #[starlark(require = pos)] label: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        check_label(label).map_err(script_error)?;
        let context = Context::of(eval)?;
        let via = context.via();
        context.effect("mark", &[label], |host| {
            let labels = [Arc::from(label)].into_iter().collect();
            let source = via.or_else(|| host.request().map(|request| Arc::clone(&request.name)));
            Ok(note(host, &labels, source.as_deref().unwrap_or("mark()"))?.map(|()| raw(&Json::Null)))
        })?;
        Ok(NoneType)
    }
}

fn as_json(reading: &Reading) -> Json {
    match reading {
        Reading::Marked(marks) => json!(marks),
        Reading::Unknown(labels) => {
            labels.iter().map(|label| (label.to_string(), json!({"source": "", "at": 0}))).collect::<Map<_, _>>().into()
        }
    }
}

/// Marks the conversation, if labels are tracked.
pub(crate) fn note(host: &Host, labels: &Labels, source: &str) -> Result<Result<(), String>, Stop> {
    match &host.flow {
        Some(flow) if !labels.is_empty() => flow.mark(labels, source),
        _ => Ok(Ok(())),
    }
}

/// The labels of everything that the conversation has read: what is stored now has them.
pub(crate) fn labels_now(host: &Host) -> Result<Result<Labels, String>, Stop> {
    match &host.flow {
        Some(flow) => Ok(flow.reading()?.map(|reading| reading.labels())),
        None => Ok(Ok(Labels::default())),
    }
}

/// Labels as the tags of a stored value.
pub(crate) fn as_tags(labels: &Labels) -> Tags {
    Tags(labels.iter().cloned().collect())
}

/// The tags of a stored value as labels.
pub(crate) fn of_tags(tags: Tags) -> Labels {
    tags.0.into_iter().collect()
}
