//! The two names of a task: the id its server gave it, and the one its client knows.

use std::borrow::Cow;

use crate::json::{Needle, Object, Raw, RawRef, object, raw};
use crate::wire::{key, without_reserved};

#[derive(Clone, Debug)]
pub(crate) struct TaskNames {
    pub(crate) theirs: String,
    pub(crate) ours: String,
}

/// What a server says or asks in the middle of a request, for the client. It names the task the request is about, or
/// none at all.
pub(crate) fn outward<'a>(names: Option<&TaskNames>, body: &'a RawRef) -> Cow<'a, RawRef> {
    translated(body, names.map(|names| (names.theirs.as_str(), names.ours.as_str())))
}

/// What the client answers, for the server.
pub(crate) fn inward<'a>(names: Option<&TaskNames>, body: &'a RawRef) -> Cow<'a, RawRef> {
    translated(body, names.map(|names| (names.ours.as_str(), names.theirs.as_str())))
}

fn translated<'a>(body: &'a RawRef, names: Option<(&str, &str)>) -> Cow<'a, RawRef> {
    let clean = without_reserved(body);
    match names {
        Some((known, told)) if related(body).is_some_and(|id| id == known) => Cow::Owned(with_related(&clean, told)),
        _ => clean,
    }
}

/// The task that something says it belongs to.
fn related(body: &RawRef) -> Option<String> {
    static RELATED: Needle = Needle::new(key::RELATED_TASK);
    if !RELATED.is_in(body.get()) {
        return None;
    }
    let body = Object::of(body).ok()?;
    let meta = Object::of(body.get(key::META)?).ok()?;
    Object::of(meta.get(key::RELATED_TASK)?).ok()?.string("taskId")
}

/// The same, saying which task it belongs to.
pub(crate) fn with_related(body: &RawRef, id: &str) -> Raw {
    let Ok(params) = Object::of(body) else { return body.to_owned() };
    let related = object([("taskId", raw(id))]);
    let meta = match params.get(key::META).map(Object::of) {
        Some(Ok(meta)) => meta.edit().set(key::RELATED_TASK, &related).finish_raw(),
        _ => object([(key::RELATED_TASK, related)]),
    };
    params.edit().set(key::META, &meta).finish_raw()
}

impl TaskNames {
    /// How the task stands, as its server tells unasked; none if it is another task's.
    pub(crate) fn status(&self, params: &RawRef) -> Option<Raw> {
        let clean = without_reserved(params);
        let object = Object::of(&clean).ok()?;
        (object.string("taskId")? == self.theirs).then(|| object.edit().set("taskId", &raw(&self.ours)).finish_raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        crate::json::valid(text.to_owned()).unwrap()
    }

    #[test]
    fn a_task_is_named_as_the_other_side_knows_it_or_not_at_all() {
        let names = TaskNames { theirs: "t-1".to_owned(), ours: "sealed".to_owned() };
        let body = |id: &str| {
            raw(&format!(
                r#"{{"message":1.10,"_meta":{{"v":1,"io.modelcontextprotocol/related-task":{{"taskId":"{id}"}}}}}}"#
            ))
        };
        assert_eq!(outward(Some(&names), &body("t-1")).get(), body_in_order("sealed"));
        assert_eq!(inward(Some(&names), &body("sealed")).get(), body_in_order("t-1"));
        for (names, id) in [(None, "t-1"), (Some(&names), "another")] {
            assert_eq!(outward(names, &body(id)).get(), r#"{"message":1.10,"_meta":{"v":1}}"#);
        }
        assert_eq!(outward(Some(&names), &raw(r#"{ "a":1 }"#)).get(), r#"{ "a":1 }"#);
    }

    fn body_in_order(id: &str) -> String {
        format!(r#"{{"message":1.10,"_meta":{{"v":1,"io.modelcontextprotocol/related-task":{{"taskId":"{id}"}}}}}}"#)
    }

    #[test]
    fn only_the_status_of_the_task_itself_is_told() {
        let names = TaskNames { theirs: "t-1".to_owned(), ours: "sealed".to_owned() };
        let told = names.status(&raw(r#"{"taskId":"t-1","ttl":1.0}"#));
        assert_eq!(told.unwrap().get(), r#"{"taskId":"sealed","ttl":1.0}"#);
        assert!(names.status(&raw(r#"{"taskId":"t-2"}"#)).is_none());
    }
}
