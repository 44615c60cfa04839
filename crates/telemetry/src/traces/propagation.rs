//! The trace context in the `_meta` of requests: read from a client's, written to a server's.

use proxy_json::{Needle, Object, Raw, RawRef, object, raw};
use proxy_model::TraceContext;
use proxy_wire::key::META;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";
static TRACEPARENT_TEXT: Needle = Needle::new(TRACEPARENT);
static BAGGAGE_TEXT: Needle = Needle::new(BAGGAGE);

/// The maximum length of a `tracestate`, which W3C asks everybody to propagate at least.
const MAX_STATE: usize = 512;

/// The span that a client's request is a part of, and its `tracestate`.
pub(super) fn parent_of(params: &RawRef) -> Option<(TraceContext, Option<String>)> {
    if !may_have(&TRACEPARENT_TEXT, params) {
        return None;
    }
    let params = Object::of(params).ok()?;
    let meta = Object::of(params.get(META)?).ok()?;
    let context = TraceContext::parse(&meta.get(TRACEPARENT)?.text()?)?;
    Some((context, meta.string(TRACESTATE).filter(|state| !state.is_empty() && state.len() <= MAX_STATE)))
}

/// Params whose `_meta` names a span of the proxy as the parent.
pub(super) fn with_parent(params: &RawRef, parent: TraceContext, state: Option<&str>, baggage: bool) -> Option<Raw> {
    let params = Object::of(params).ok()?;
    let text = parent.to_string();
    let Some(sent) = params.get(META) else {
        let state = state.map(|state| (TRACESTATE, raw(state)));
        let meta = object([(TRACEPARENT, raw(&text))].into_iter().chain(state));
        return Some(params.edit().set(META, &meta).finish_raw());
    };
    let meta = Object::of(sent).ok()?;
    let mut edit = meta.edit();
    edit.set(TRACEPARENT, &raw(&text));
    match state {
        Some(state) => edit.set(TRACESTATE, &raw(state)),
        // It belongs to a trace that is not continued.
        None => edit.remove(TRACESTATE),
    };
    if !baggage {
        edit.remove(BAGGAGE);
    }
    Some(params.edit().set(META, &edit.finish_raw()).finish_raw())
}

/// Params without `baggage`; `None` if they have none.
pub(super) fn without_baggage(params: &RawRef) -> Option<Raw> {
    if !may_have(&BAGGAGE_TEXT, params) {
        return None;
    }
    let params = Object::of(params).ok()?;
    let meta = Object::of(params.get(META)?).ok()?;
    meta.get(BAGGAGE)?;
    Some(params.edit().set(META, &meta.edit().remove(BAGGAGE).finish_raw()).finish_raw())
}

/// Whether a text may contain a key, which may be written with escapes.
fn may_have(key: &Needle, text: &RawRef) -> bool {
    key.is_in(text.get()) || memchr::memchr(b'\\', text.get().as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_json::valid;

    const OURS: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const THEIRS: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00";

    fn sent(meta: &str) -> Raw {
        valid(format!(r#"{{ "name":"x", "_meta": {{{meta}}} ,"arguments":{{"n":1.10}}}}"#)).unwrap()
    }

    #[test]
    fn the_parent_is_read_from_meta_and_nowhere_else() {
        let (parent, state) = parent_of(&sent(&format!(r#""traceparent":"{THEIRS}","tracestate":"a=1""#))).unwrap();
        assert_eq!((parent.to_string().as_str(), state.as_deref()), (THEIRS, Some("a=1")));
        let escaped = sent(&format!(r#""trace\u0070arent":"{THEIRS}""#));
        assert_eq!(parent_of(&escaped).map(|(parent, _)| parent), Some(parent));
        for other in [r#""traceparent":7"#, r#""traceparent":"x""#, ""] {
            assert_eq!(parent_of(&sent(other)), None, "{other}");
        }
        let argument = valid(format!(r#"{{"arguments":{{"traceparent":"{THEIRS}"}}}}"#)).unwrap();
        assert_eq!(parent_of(&argument), None);
    }

    #[test]
    fn a_server_gets_our_span_and_every_other_byte_as_it_was() {
        let ours = TraceContext::parse(OURS).unwrap();
        let written =
            |params: &Raw, state, baggage| with_parent(params, ours, state, baggage).unwrap().get().to_owned();
        let params = sent(&format!(r#""a": 1e2, "traceparent":"{THEIRS}","tracestate":"a=1","baggage":"u=1""#));
        let expected = sent(&format!(r#""a": 1e2, "traceparent":"{OURS}","tracestate":"a=1""#));
        assert_eq!(written(&params, Some("a=1"), false), expected.get());
        let expected = sent(&format!(r#""a": 1e2, "traceparent":"{OURS}","baggage":"u=1""#));
        assert_eq!(written(&params, None, true), expected.get());
        let without = valid(r#"{"name":"x"}"#.to_owned()).unwrap();
        assert_eq!(written(&without, None, true), format!(r#"{{"name":"x","_meta":{{"traceparent":"{OURS}"}}}}"#));
        let odd = valid(r#"{"name":"x","_meta":7}"#.to_owned()).unwrap();
        assert_eq!(with_parent(&odd, ours, None, true), None);
    }

    #[test]
    fn only_baggage_is_removed_from_what_is_not_traced() {
        let params = sent(&format!(r#""traceparent":"{THEIRS}","baggage":"u=1""#));
        assert_eq!(without_baggage(&params).unwrap().get(), sent(&format!(r#""traceparent":"{THEIRS}""#)).get());
        assert_eq!(without_baggage(&sent(&format!(r#""traceparent":"{THEIRS}""#))), None);
    }
}
