use super::*;

#[test]
fn a_wrapper_calls_the_backend_and_gets_its_result() {
    let plan = run("
def loud(call):
    def handler(args):
        log('called', tool = 'search')
        result = call(args | {'limit': 10}, timeout = 1.5)
        return {'content': [{'type': 'text', 'text': result['content'][0]['text'].upper()}]}
    return handler
meta, call = backends()['github'].tools()[0]
publish(meta, loud(call))
")
    .unwrap();
    let host = Arc::new(Recorder::default());
    let result = call(&plan, "search", r#"{"q":"x","n":12345678901234567890123}"#, &host, &Limits::HANDLER).unwrap();
    assert_eq!(
        result,
        json!({"content": [{"type": "text", "text": r#"{"Q":"X","N":12345678901234567890123,"LIMIT":10}"#}]})
    );
    let calls = host.calls.lock();
    assert_eq!(calls[0].0, ItemRef { kind: ItemKind::Tool, backend: "github".into(), name: "search".into() });
    assert_eq!(calls[0].2, Some(Duration::from_millis(1500)));
    assert_eq!(host.logged.lock()[0], r#"info called {"tool":"search"}"#);
}

#[test]
fn values_come_back_as_json() {
    assert_eq!(handle("return None", "{}").unwrap(), json!(null));
    assert_eq!(handle("return args['a'] + 1", r#"{"a": 41}"#).unwrap(), json!(42));
    assert_eq!(handle("args['x'] = 1\nreturn args", "{}").unwrap(), json!({"x": 1}));
    let failure = handle("return {'a': [1, print]}", "{}").unwrap_err();
    assert_eq!(
        failure.message,
        "`handler` returned a value that cannot be converted to JSON: `a[1]`: a function has no JSON representation"
    );
    let failure = handle("return 1", r#"{"deep": {"x": 1e400}}"#).unwrap_err();
    assert_eq!(failure.message, "cannot convert the arguments to Starlark: `deep.x`: number out of range: 1e+400");
}

#[test]
fn fail_carries_data_and_says_where() {
    let failure = handle("fail('no access', data = {'code': 7})", "{}").unwrap_err();
    assert_eq!(failure.kind, proxy_script::FailureKind::Failed { data: Some(json!({"code": 7})) });
    assert_eq!(failure.for_client(), "no access (policy.star:2)");
}

#[test]
fn an_error_shows_the_stack_to_the_log_and_only_the_line_to_the_client() {
    let plan = run("
def inner(args):
    key = 'missing'
    return args[key]
def outer(args):
    return inner(args)
publish(metadata('x', '', {}, {}), outer)
")
    .unwrap();
    let failure = call(&plan, "x", "{}", &Arc::default(), &Limits::HANDLER).unwrap_err();
    assert_eq!(failure.for_client(), "Key `\"missing\"` was not found (policy.star:4)");
    assert_eq!(failure.diagnostic.trace, ["policy.star:6 in outer", "policy.star:4 in inner"]);
}

/// Starlark inlines short functions. The error then points at the call, and the client still gets the file name.
#[test]
fn an_error_in_a_one_line_function() {
    let plan = run("
def inner(args):
    return args['missing']
def outer(args):
    return inner(args)
publish(metadata('x', '', {}, {}), outer)
")
    .unwrap();
    let failure = call(&plan, "x", "{}", &Arc::default(), &Limits::HANDLER).unwrap_err();
    assert_eq!(failure.for_client(), "Key `\"missing\"` was not found (policy.star:5)");
}

#[test]
fn frozen_values_cannot_be_changed_and_the_message_says_so() {
    let plan = run("
counter = {'n': 0}
def handler(args):
    counter['n'] += 1
publish(metadata('x', '', {}, {}), handler)
")
    .unwrap();
    let failure = call(&plan, "x", "{}", &Arc::default(), &Limits::HANDLER).unwrap_err();
    assert!(failure.message.contains("a script's values cannot change once it has run"), "{}", failure.message);
    assert!(failure.diagnostic.hint.is_some());
}

#[test]
fn effects_are_limited_to_the_top_level_or_to_handlers() {
    let text = fault("meta, call = backends()['github'].tools()[0]\ncall({})\n");
    assert!(
        text.contains("calling the tool `search` is possible only while a call is handled, not at the top level"),
        "{text}"
    );
    assert!(text.contains("hint: do it inside a handler"), "{text}");
    for body in ["publish(metadata('y', '', {}, {}), print)", "instructions('x')"] {
        let failure = handle(body, "{}").unwrap_err();
        assert!(failure.message.contains("works only at the top level of the session script"), "{}", failure.message);
    }
    // Pure built-ins work both at the top level and in handlers.
    assert_eq!(
        handle("return [len(backends()), config()['params'], digest(1)[:4]]", "{}").unwrap(),
        json!([2, {}, "6b86"])
    );
}

#[test]
fn a_backend_handler_says_how_it_is_called() {
    for (arguments, expected) in [
        ("", "takes one argument, a dict; 0 given"),
        ("1", "takes a dict, not a `int`"),
        ("{}, limit = 1", "takes no argument named `limit`"),
        ("{}, timeout = 0", "`timeout` must be a number of seconds above 0"),
        ("{'a': print}", "the arguments of `search` cannot be converted to JSON: `a`: a function"),
    ] {
        let failure = handle(&format!("return backends()['github'].tools()[0][1]({arguments})"), "{}").unwrap_err();
        assert!(failure.message.contains(expected), "{arguments}: {}", failure.message);
    }
}

#[test]
fn a_stop_cannot_be_caught() {
    let plan = run("
meta, call = backends()['github'].tools()[0]
def handler(args):
    attempt(call, args)
    return 'went on'
publish(meta, handler)
")
    .unwrap();
    let host = Arc::new(Recorder { stop: Mutex::new(Some(Stop::Cancelled)), ..Recorder::default() });
    let failure = call(&plan, "search", "{}", &host, &Limits::HANDLER).unwrap_err();
    assert_eq!(failure.kind, proxy_script::FailureKind::Stopped(Stop::Cancelled));
    assert_eq!(failure.message, "the call was cancelled");
}

#[test]
fn many_threads_call_one_function() {
    let plan = run("
def make(n):
    table = {str(i): i * n for i in range(100)}
    return lambda args: table[args['k']] + len([x for x in range(args['m'])])
publish(metadata('x', '', {}, {}), make(3))
")
    .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let plan = &plan;
            scope.spawn(move || {
                for round in 0..200u64 {
                    let key = (thread * 7 + round) % 100;
                    let arguments = format!(r#"{{"k":"{key}","m":{round}}}"#);
                    let result = call(plan, "x", &arguments, &Arc::default(), &Limits::HANDLER).unwrap();
                    assert_eq!(result, json!(key * 3 + round));
                }
            });
        }
    });
}
