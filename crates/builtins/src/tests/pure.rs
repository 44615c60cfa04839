//! The modules without effects.

use serde_json::json;

use super::{evaluate, fault};

#[test]
fn numbers() {
    assert_eq!(
        evaluate("[math.pow(2, 3), math.sqrt(9), math.ceil(4.2), math.floor(-4.2), math.ceil(7)]"),
        json!([8.0, 3.0, 5, -5, 7])
    );
    assert_eq!(
        evaluate("[math.round(2.7154, 2), math.round(2.5), math.abs(-5), math.log(8, 2)]"),
        json!([2.72, 3.0, 5.0, 3.0])
    );
    assert_eq!(
        evaluate("[math.sin(0), math.cos(0), math.tan(0), math.exp(0), math.log(math.e)]"),
        json!([0.0, 1.0, 0.0, 1.0, 1.0])
    );
    assert_eq!(evaluate("math.floor(math.pi * 1000)"), json!(3141));
    for (script, why) in [
        ("math.sqrt(-1)", "the result of math.sqrt() is not a finite number"),
        ("math.pow(10, 400)", "the result of math.pow() is not a finite number"),
        ("math.log(0)", "the result of math.log() is not a finite number"),
        ("math.ceil(1e300)", "too large for an exact integer"),
        ("math.round(1, -1)", "`decimals` must be from 0 to 15"),
    ] {
        assert!(fault(script).contains(why), "{script}: {}", fault(script));
    }
}

#[test]
fn fuzzy_search() {
    assert_eq!(
        evaluate("fuzzy.search('potion', ['Antidote', 'Super Potion', 'Potion'])"),
        json!(["Potion", "Super Potion"])
    );
    let items = "[{'name': 'Apple', 'color': 'Red'}, {'name': 'Redcurrant', 'color': 'red'}, {'size': 3}]";
    assert_eq!(
        evaluate(&format!("[i['name'] for i in fuzzy.search('red', {items}, key = 'color')]")),
        json!(["Apple", "Redcurrant"])
    );
    assert_eq!(
        evaluate(&format!("[i['name'] for i in fuzzy.search('red', {items}, keys = ['name'])]")),
        json!(["Redcurrant"])
    );
    assert_eq!(evaluate(&format!("len(fuzzy.search('red', {items}))")), json!(2));
    let scored = evaluate("fuzzy.search_with_scores('hel', ['hello', 'shell', 'world'], limit = 1)");
    assert_eq!((scored[0]["item"].as_str(), scored.as_array().unwrap().len()), (Some("hello"), 1));
    assert!(scored[0]["score"].is_i64());
    assert!(fault("fuzzy.search('a', [], key = 'a', keys = ['b'])").contains("`key` and `keys` cannot be combined"));
}

#[test]
fn base64_of_text() {
    assert_eq!(evaluate("base64.encode('hé?>')"), json!("aMOpPz4="));
    assert_eq!(evaluate("base64.encode('hé?>', url_safe = True)"), json!("aMOpPz4"));
    assert_eq!(
        evaluate("[base64.decode('aMOpPz4='), base64.decode('aMOpPz4'), base64.decode('YWI_\\nYWI-')]"),
        json!(["hé?>", "hé?>", "ab?ab>"])
    );
    assert!(fault("base64.decode('a')").contains("invalid base64"));
    assert!(fault("base64.decode('/w==')").contains("not UTF-8 text"));
}

#[test]
fn urls() {
    assert_eq!(evaluate("url.encode('a b/ü~')"), json!("a%20b%2F%C3%BC~"));
    assert_eq!(evaluate("url.encode('a/b', safe = '/')"), json!("a/b"));
    assert_eq!(evaluate("url.decode('a%20b%2F%C3%BC%+1%zz')"), json!("a b/ü%+1%zz"));
    assert_eq!(
        evaluate("url.encode_query({'q': 'a b', 'n': 3, 'no': None, 'x': ['1', '2'], 'b': True})"),
        json!("q=a+b&n=3&x=1&x=2&b=true")
    );
    let script = "[u.scheme, u.host, u.port, u.path, u.query, u.fragment] for u in [url.parse('https://e.example/a?x=1&x=2&y#f')]";
    assert_eq!(
        evaluate(&format!("[{script}][0]")),
        json!(["https", "e.example", 443, "/a", {"x": ["1", "2"], "y": [""]}, "f"])
    );
    assert_eq!(evaluate("url.join('https://e.example/a/b', '../c')"), json!("https://e.example/c"));
    assert!(fault("url.parse('no address')").contains("invalid URL `no address`"));
    assert!(fault("url.decode('%ff')").contains("not UTF-8 text"));
}

#[test]
fn times() {
    assert_eq!(evaluate("time.format(0)"), json!("1970-01-01T00:00:00Z"));
    assert_eq!(
        evaluate("time.format(1700000000, '%d.%m.%Y %H:%M %Z', tz = 'Europe/Berlin')"),
        json!("14.11.2023 23:13 CET")
    );
    assert_eq!(evaluate("time.format(0.25, '%H:%M:%S%.3f')"), json!("00:00:00.250"));
    assert_eq!(evaluate("time.parse('2023-11-14T22:13:20Z')"), json!(1_700_000_000));
    assert_eq!(evaluate("time.parse('2023-11-14 23:13 +0100', '%Y-%m-%d %H:%M %z')"), json!(1_699_999_980));
    assert_eq!(evaluate("time.parse('2026-11-15', '%Y-%m-%d')"), json!(1_794_700_800));
    for (script, why) in [
        ("time.format(0, tz = 'Mars/Olympus')", "unknown time zone `Mars/Olympus`"),
        ("time.format(1e300)", "out of range"),
        ("time.parse('x', '%Y')", "cannot parse `x` as `%Y`"),
        ("time.parse('12', '%H')", "has no complete date"),
        ("time.format(0, '%!')", "`%!`"),
    ] {
        assert!(fault(script).contains(why), "{script}: {}", fault(script));
    }
}

#[test]
fn the_clock_is_read_in_handlers_only() {
    let fault = fault("time.now()");
    assert!(fault.contains("`time.now()` is possible only while a call is handled"), "{fault}");
    let read = super::handle("return [time.now(), time.now_ms()]", "{}").unwrap();
    let (seconds, milliseconds) = (read[0].as_i64().unwrap(), read[1].as_i64().unwrap());
    assert!(seconds > 1_700_000_000 && (0..60).contains(&(milliseconds / 1000 - seconds)), "{read}");
}
