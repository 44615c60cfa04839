//! A handler that asks the user runs again with the answer, and repeats no effect.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Plan, Recorder, call, run};
use proxy_model::JournalSnapshot;
use proxy_script::{Failure, FailureKind, Journal, JournalCursor, Limits, Stop};

/// A plan with one tool `x`, whose handler has this body and can call a server's tool as `one`.
fn plan(body: &str) -> Plan {
    let script = format!(
        "one = backends()['github'].tools()[0][1]\ndef handler(args):\n    {}\n\
         publish(metadata('x', '', {{}}, {{}}), handler)\n",
        body.replace('\n', "\n    ")
    );
    run(&script).unwrap_or_else(|error| panic!("{error}"))
}

struct Rounds {
    host: Arc<Recorder>,
    snapshot: JournalSnapshot,
}

impl Rounds {
    fn new() -> Self {
        Rounds {
            host: Arc::new(Recorder { can_ask: true, ..Recorder::default() }),
            snapshot: JournalSnapshot::default(),
        }
    }

    /// Runs the handler once, with the journal of the earlier runs.
    fn run(&mut self, plan: &Plan) -> Result<Value, Failure> {
        let cursor = JournalCursor::first(Journal::of(std::mem::take(&mut self.snapshot)));
        *self.host.cursor.lock() = Some(cursor.clone());
        let outcome = call(plan, "x", "{}", &self.host, &Limits::HANDLER);
        if outcome.is_ok() {
            assert!(cursor.journal().is_replayed(), "the journal has entries that were not replayed");
        }
        // Through its serialized form, as in the store.
        self.snapshot = JournalSnapshot::from_bytes(&cursor.journal().take_snapshot().to_bytes().unwrap()).unwrap();
        outcome
    }

    fn asks(&mut self, plan: &Plan) -> Vec<String> {
        let failure = self.run(plan).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Stopped(Stop::Input), "{failure}");
        self.snapshot.questions().iter().map(|(_, question)| question.message.clone()).collect()
    }

    fn answer(&mut self, answer: Value) {
        let key = self.snapshot.questions()[0].0.clone();
        assert!(self.snapshot.answer(&key, proxy_json::raw(&answer)));
    }

    fn accept(&mut self) {
        self.answer(json!({"action": "accept", "content": {}}));
    }

    fn calls(&self) -> usize {
        self.host.calls.lock().len()
    }
}

#[test]
fn folders_are_asked_for_once_and_counted_in_every_branch() {
    let plan = plan(
        "first = roots()\none({'n': 1})\nlengths = parallel([lambda: len(roots()), lambda: len(roots())])\n\
         answer = elicit_url('Visit', 'https://example.com', when_unavailable = 'error')\n\
         return [first[0].path, first[0].name, lengths, len(roots()), answer.action, answer.content]",
    );
    let mut rounds = Rounds::new();
    assert_eq!(rounds.asks(&plan), ["roots/list"]);
    assert_eq!(rounds.calls(), 0);
    rounds.answer(json!({"roots": [{"uri": "file:///srv", "name": "", "path": "/srv"}]}));
    assert_eq!(rounds.asks(&plan), ["Visit"]);
    rounds.accept();
    let expected = json!(["/srv", "", [1, 1], 1, "accept", {}]);
    assert_eq!(rounds.run(&plan).unwrap(), expected);
    assert_eq!(rounds.calls(), 1);
    // A client that cannot be asked has no folders.
    let host = Arc::new(Recorder::default());
    let none = super::run("publish(metadata('x', '', {}, {}), lambda args: roots())").unwrap();
    assert_eq!(call(&none, "x", "{}", &host, &Limits::HANDLER).unwrap(), json!([]));
}

#[test]
fn what_was_done_before_a_question_is_not_done_again() {
    let plan = plan(
        "first = one({'n': 1})\nlog('between')\nanswer = elicit('Sure?', when_unavailable = 'error')\n\
         second = one({'n': 2})\nreturn [unwrap(first), answer.action, unwrap(second)]",
    );
    let mut rounds = Rounds::new();
    assert_eq!(rounds.asks(&plan), ["Sure?"]);
    assert_eq!(rounds.calls(), 1);
    rounds.accept();
    assert_eq!(rounds.run(&plan).unwrap(), json!([{"n": 1}, "accept", {"n": 2}]));
    assert_eq!(rounds.calls(), 2);
    assert_eq!(rounds.host.logged.lock().len(), 1);
}

#[test]
fn several_questions_come_one_after_the_other() {
    let plan = plan(
        "names = []\nfor i in range(3):\n    one({'n': i})\n    names.append(elicit('Name %d?' % i, {'type': 'object', \
         'properties': {'name': {'type': 'string'}}}, when_unavailable = 'error').content['name'])\nreturn names",
    );
    let mut rounds = Rounds::new();
    for (index, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
        assert_eq!(rounds.asks(&plan), [format!("Name {index}?")]);
        rounds.answer(json!({"action": "accept", "content": {"name": name}}));
    }
    assert_eq!(rounds.run(&plan).unwrap(), json!(["ann", "bob", "cid"]));
    assert_eq!(rounds.calls(), 3);
}

#[test]
fn attempt_does_not_catch_a_question() {
    let plan =
        plan("tried = attempt(elicit, 'Sure?', when_unavailable = 'error')\nreturn [tried.ok, tried.value.action]");
    let mut rounds = Rounds::new();
    assert_eq!(rounds.asks(&plan), ["Sure?"]);
    rounds.accept();
    assert_eq!(rounds.run(&plan).unwrap(), json!([true, "accept"]));
}

#[test]
fn branches_ask_together_and_each_effect_happens_once() {
    let plan = plan(
        "def branch(i):\n    one({'before': i})\n    said = elicit('Branch %d?' % i, when_unavailable = 'error') if i % 2 else None\n    \
         one({'after': i})\n    return said.action if said else 'none'\nreturn parallel([partial(branch, i) for i in range(6)], limit = 2)",
    );
    let mut rounds = Rounds::new();
    assert_eq!(rounds.asks(&plan), ["Branch 1?", "Branch 3?", "Branch 5?"]);
    assert_eq!(rounds.calls(), 6 + 3);
    for _ in 0..3 {
        rounds.accept();
    }
    assert_eq!(rounds.run(&plan).unwrap(), json!(["none", "accept", "none", "accept", "none", "accept"]));
    assert_eq!(rounds.calls(), 12);
    let mut done: Vec<String> = rounds.host.calls.lock().iter().map(|call| call.1.clone()).collect();
    done.sort();
    done.dedup();
    assert_eq!(done.len(), 12);
}

#[test]
fn branches_inside_of_branches_ask_together_too() {
    let plan = plan(
        "def leaf(i, j):\n    one({'leaf': [i, j]})\n    return elicit('%d.%d?' % (i, j), when_unavailable = 'error').action\n\
         def branch(i):\n    inner = parallel([partial(leaf, i, j) for j in range(2)])\n    one({'end': i})\n    return inner\n\
         return parallel([partial(branch, i) for i in range(2)], limit = 1)",
    );
    let mut rounds = Rounds::new();
    assert_eq!(rounds.asks(&plan), ["0.0?", "0.1?", "1.0?", "1.1?"]);
    for _ in 0..4 {
        rounds.accept();
    }
    assert_eq!(rounds.run(&plan).unwrap(), json!([["accept", "accept"], ["accept", "accept"]]));
    assert_eq!(rounds.calls(), 6);
}

#[test]
fn a_finished_nested_call_is_remembered_as_a_whole() {
    let plan = run(
        "one = backends()['github'].tools()[0][1]\n\
         def inner(args):\n    one({'n': 1})\n    answer = elicit('Inner?', when_unavailable = 'error')\n    return {'said': answer.action}\n\
         index = search_index([(metadata('inner', '', {}, {}), inner)])\n\
         def handler(args):\n    got = index.call('inner', {})\n    elicit('Outer?', when_unavailable = 'error')\n    return unwrap(got)\n\
         publish(metadata('x', '', {}, {}), handler)\n",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let mut rounds = Rounds::new();
    assert_eq!(rounds.asks(&plan), ["Inner?"]);
    rounds.accept();
    assert_eq!(rounds.asks(&plan), ["Outer?"]);
    assert!(!String::from_utf8(rounds.snapshot.to_bytes().unwrap()).unwrap().contains("elicit\",\"request\":\"x"));
    rounds.accept();
    assert_eq!(rounds.run(&plan).unwrap(), json!({"said": "accept"}));
    assert_eq!(rounds.calls(), 1);
}

#[test]
fn a_handler_that_diverges_from_its_journal_is_ended_without_effects() {
    for (before, after, problem) in [
        // Another kind of effect.
        (
            "one({'n': 1})\nelicit('?', when_unavailable = 'error')",
            "sleep(0)\none({'n': 1})",
            "`sleep` comes where `call`",
        ),
        // The same effect with other arguments.
        ("one({'n': 1})\nelicit('?', when_unavailable = 'error')", "one({'n': 2})", "`call` comes where `call`"),
        // A plain effect in place of nested ones.
        (
            "parallel([lambda: one({})])\nelicit('?', when_unavailable = 'error')",
            "one({})",
            "`call` comes where `parallel`",
        ),
        // Fewer branches than before.
        (
            "parallel([lambda: one({}), lambda: one({})])\nelicit('?', when_unavailable = 'error')",
            "parallel([lambda: one({})])",
            "`parallel` comes where `parallel`",
        ),
        // One branch with fewer effects, and another one with more.
        (
            "parallel([lambda: one({'a': 1}), lambda: one({'b': 1})])\nelicit('?', when_unavailable = 'error')",
            "parallel([lambda: 1, lambda: [one({'b': 1}), one({'new': 1})]])",
            "`call` comes where other things",
        ),
    ] {
        let (before, after) = (plan(before), plan(after));
        let mut rounds = Rounds::new();
        rounds.asks(&before);
        rounds.accept();
        let done = rounds.calls();
        let failure = rounds.run(&after).unwrap_err();
        assert!(failure.message.contains(problem), "{}", failure.message);
        assert_eq!(rounds.calls(), done, "{problem}");
    }
}

#[test]
fn attempt_does_not_catch_a_divergence_from_the_journal() {
    let (before, after) = (
        plan("one({'n': 1})\nelicit('?', when_unavailable = 'error')"),
        plan("attempt(one, {'n': 2})\nattempt(one, {'n': 3})\nreturn 'went on'"),
    );
    let mut rounds = Rounds::new();
    rounds.asks(&before);
    rounds.accept();
    assert!(rounds.run(&after).is_err());
    assert_eq!(rounds.calls(), 1);
}

#[test]
fn a_handler_with_fewer_effects_than_before_leaves_journal_entries() {
    let (before, after) = (plan("one({})\nelicit('?', when_unavailable = 'error')"), plan("return 'done'"));
    let mut rounds = Rounds::new();
    rounds.asks(&before);
    rounds.accept();
    let cursor = JournalCursor::first(Journal::of(std::mem::take(&mut rounds.snapshot)));
    *rounds.host.cursor.lock() = Some(cursor.clone());
    call(&after, "x", "{}", &rounds.host, &Limits::HANDLER).unwrap();
    assert!(!cursor.journal().is_replayed());
}

#[test]
fn an_error_result_of_a_server_is_replayed() {
    let plan = plan("tried = one({'n': 1})\nelicit('?', when_unavailable = 'error')\nreturn tried['isError']");
    let host = Recorder { can_ask: true, answer: Some(r#"{"isError":true,"content":[]}"#), ..Recorder::default() };
    let mut rounds = Rounds { host: Arc::new(host), snapshot: JournalSnapshot::default() };
    rounds.asks(&plan);
    rounds.accept();
    assert_eq!(rounds.run(&plan).unwrap(), json!(true));
}

#[test]
fn a_journal_that_is_too_large_is_an_error_only_if_the_handler_asks() {
    let much = "for i in range(10):\n    one({'text': 'x' * 1000000})\n";
    let mut rounds = Rounds::new();
    assert_eq!(rounds.run(&plan(&format!("{much}return 'done'"))).unwrap(), json!("done"));
    let failure = Rounds::new().run(&plan(&format!("{much}elicit('?', when_unavailable = 'error')"))).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit("journal"));
    assert!(failure.message.contains("8 MiB"), "{}", failure.message);
}

#[test]
fn when_unavailable_decides_for_clients_that_cannot_ask() {
    for (choice, expected) in
        [("accept", Ok("accept")), ("reject", Ok("decline")), ("error", Err("cannot ask the user"))]
    {
        let plan = plan(&format!("return elicit('?', when_unavailable = '{choice}').action"));
        let outcome = call(&plan, "x", "{}", &Arc::default(), &Limits::HANDLER);
        match expected {
            Ok(action) => assert_eq!(outcome.unwrap(), json!(action)),
            Err(problem) => assert!(outcome.unwrap_err().message.contains(problem)),
        }
    }
}

#[test]
fn invalid_questions_are_errors() {
    for (arguments, problem) in [
        ("'?'", "when_unavailable"),
        ("'?', when_unavailable = 'ask'", "`when_unavailable` cannot be \"ask\""),
        ("'', when_unavailable = 'error'", "`message` must not be empty"),
        ("'?', {'properties': {'a': {'type': 'object'}}}, when_unavailable = 'error'", "the field `a`"),
        ("'?', 'text', when_unavailable = 'error'", "`schema` must be a dict"),
    ] {
        let failure = Rounds::new().run(&plan(&format!("elicit({arguments})"))).unwrap_err();
        assert!(failure.message.contains(problem), "{arguments}: {}", failure.message);
    }
}
