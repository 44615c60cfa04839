//! Translates between the two ids of a task: the id that its server assigned, and the sealed id that its client uses.

use std::borrow::Cow;

use proxy_json::{Needle, Object, Raw, RawRef, object, raw};
use proxy_wire::{key, without_reserved};

/// The ids by which the server and the client know the same task.
#[derive(Clone, Debug)]
pub(crate) struct TaskIds {
    pub(crate) server: String,
    pub(crate) client: String,
}

/// Translates a message of the server for the client. The message refers to the request's own task or to no task: other
/// references are removed.
pub(super) fn for_client<'a>(ids: Option<&TaskIds>, body: &'a RawRef) -> Cow<'a, RawRef> {
    translated(body, ids.map(|ids| (ids.server.as_str(), ids.client.as_str())))
}

/// Translates an answer of the client for the server.
pub(super) fn for_server<'a>(ids: Option<&TaskIds>, body: &'a RawRef) -> Cow<'a, RawRef> {
    translated(body, ids.map(|ids| (ids.client.as_str(), ids.server.as_str())))
}

fn translated<'a>(body: &'a RawRef, ids: Option<(&str, &str)>) -> Cow<'a, RawRef> {
    let clean = without_reserved(body);
    match ids {
        Some((from, to)) if related(body).is_some_and(|id| id == from) => Cow::Owned(with_related(&clean, to)),
        _ => clean,
    }
}

/// The id of the related task in `_meta`.
fn related(body: &RawRef) -> Option<String> {
    static RELATED: Needle = Needle::new(key::RELATED_TASK);
    if !RELATED.is_in(body.get()) {
        return None;
    }
    let body = Object::of(body).ok()?;
    let meta = Object::of(body.get(key::META)?).ok()?;
    Object::of(meta.get(key::RELATED_TASK)?).ok()?.string("taskId")
}

/// Sets the related task in `_meta`.
pub(crate) fn with_related(body: &RawRef, id: &str) -> Raw {
    let Ok(params) = Object::of(body) else { return body.to_owned() };
    let related = object([("taskId", raw(id))]);
    let meta = match params.get(key::META).map(Object::of) {
        Some(Ok(meta)) => meta.edit().set(key::RELATED_TASK, &related).finish_raw(),
        _ => object([(key::RELATED_TASK, related)]),
    };
    params.edit().set(key::META, &meta).finish_raw()
}

impl TaskIds {
    /// Translates a status notification for the client; `None` if it is about another task.
    pub(crate) fn status(&self, params: &RawRef) -> Option<Raw> {
        let clean = without_reserved(params);
        let object = Object::of(&clean).ok()?;
        (object.string("taskId")? == self.server).then(|| object.edit().set("taskId", &raw(&self.client)).finish_raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        proxy_json::valid(text.to_owned()).unwrap()
    }

    #[test]
    fn a_task_is_named_as_the_other_side_knows_it_or_not_at_all() {
        let ids = TaskIds { server: "t-1".to_owned(), client: "sealed".to_owned() };
        let body = |id: &str| {
            raw(&format!(
                r#"{{"message":1.10,"_meta":{{"v":1,"io.modelcontextprotocol/related-task":{{"taskId":"{id}"}}}}}}"#
            ))
        };
        assert_eq!(for_client(Some(&ids), &body("t-1")).get(), body_in_order("sealed"));
        assert_eq!(for_server(Some(&ids), &body("sealed")).get(), body_in_order("t-1"));
        for (ids, id) in [(None, "t-1"), (Some(&ids), "another")] {
            assert_eq!(for_client(ids, &body(id)).get(), r#"{"message":1.10,"_meta":{"v":1}}"#);
        }
        assert_eq!(for_client(Some(&ids), &raw(r#"{ "a":1 }"#)).get(), r#"{ "a":1 }"#);
    }

    fn body_in_order(id: &str) -> String {
        format!(r#"{{"message":1.10,"_meta":{{"v":1,"io.modelcontextprotocol/related-task":{{"taskId":"{id}"}}}}}}"#)
    }

    #[test]
    fn only_the_status_of_the_task_itself_is_told() {
        let ids = TaskIds { server: "t-1".to_owned(), client: "sealed".to_owned() };
        let status = ids.status(&raw(r#"{"taskId":"t-1","ttl":1.0}"#));
        assert_eq!(status.unwrap().get(), r#"{"taskId":"sealed","ttl":1.0}"#);
        assert!(ids.status(&raw(r#"{"taskId":"t-2"}"#)).is_none());
    }
}
