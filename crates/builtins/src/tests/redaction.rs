//! `redact()`: what it replaces and what it leaves alone.

use serde_json::json;

use super::{evaluate, fault};

fn redacted(text: &str) -> String {
    evaluate(&format!("redact({})", json!(text))).as_str().unwrap().to_owned()
}

fn replaces(text: &str, expected: &str) {
    assert_eq!(redacted(text), expected, "{text}");
}

fn leaves(text: &str) {
    replaces(text, text);
}

#[test]
fn personal_data() {
    replaces("write to ann.o'hara+x@mail.example.co.uk, or <bob@b.org>.", "write to [email], or <[email]>.");
    replaces("ring +49 (0)30 1234567 or (415) 555-2671 or 415.555.2671", "ring [phone] or [phone] or [phone]");
    replaces("ssn 123-45-6789 and 123 45 6789", "ssn [ssn] and [ssn]");
    replaces(
        "card 4111 1111 1111 1111 2025, 378282246310005, 5555-5555-5555-4444",
        "card [credit_card] 2025, [credit_card], [credit_card]",
    );
    for text in [
        "000-12-3456 and 900-12-3456 are nobody's",
        "on 2026-11-15 at 12:30:45, version 1.2.3, 3.14159, id 1234567890",
        "4111 1111 1111 1112 fails its check, 1411111111111111111111 is too long",
        "a@b, @user, mail@localhost",
        "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    ] {
        leaves(text);
    }
}

#[test]
fn ip_addresses() {
    replaces("from 192.168.1.10:8080, ::1 and fe80::1ff:fe23:4567:890a.", "from [ip], [ip] and [ip].");
    replaces("10.0.0.1/8", "[ip]/8");
    for text in ["version 1.2.3.4.5", "999.1.1.1", "std::io::Error and a::b", "12:30:45", "..."] {
        leaves(text);
    }
}

#[test]
fn secrets() {
    replaces("key sk-abcdefghijklmnopqrstuvwx.", "key [secret].");
    replaces("ghp_abcdefghijklmnopqrstuvwxyz0123456789 AKIAIOSFODNN7EXAMPLE", "[secret] [secret]");
    replaces("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3", "[secret]");
    replaces("Authorization: Bearer abc123.def456", "Authorization: Bearer [secret]");
    replaces(
        "{\"password\": \"hunter2!\", \"api_key\":\"k-1234567\"}",
        "{\"password\": \"[secret]\", \"api_key\":\"[secret]\"}",
    );
    replaces(
        "postgres://app:pa55@db.example/x?password=s3cret-1&a=1",
        "postgres://app:[secret]@db.example/x?password=[secret]&a=1",
    );
    replaces("a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b", "a [secret] b");
    replaces("-----BEGIN PRIVATE KEY-----\nMIIE", "[secret]");
    for text in [
        "the password: forgotten",
        "a secret: everybody knows",
        "task-force, sk-ip",
        "https://e.example:443/a@b",
        "-----BEGIN CERTIFICATE-----",
    ] {
        leaves(text);
    }
}

#[test]
fn strings_are_redacted_at_any_depth_and_nothing_else() {
    let value = "{'ann@a.org': 'ann@a.org', 'n': 4111111111111111, 'list': ['x', ('bob@b.org', None, True)], 's': struct(m = 'c@c.org')}";
    let expected = json!({"ann@a.org": "[email]", "n": 4_111_111_111_111_111_i64, "list": ["x", ["[email]", null, true]], "s": {"m": "[email]"}});
    assert_eq!(evaluate(&format!("redact({value})")), expected);
    let image = "{'type': 'image', 'data': '4111111111111111', 'mimeType': 'a@b.org'}";
    assert_eq!(
        evaluate(&format!("redact({image})")),
        json!({"type": "image", "data": "4111111111111111", "mimeType": "[email]"})
    );
    let blob = "{'uri': 'file:///a@b.org', 'blob': '4111111111111111'}";
    assert_eq!(evaluate(&format!("redact({blob})")), json!({"uri": "file:///[email]", "blob": "4111111111111111"}));
}

#[test]
fn kinds_limit_what_is_replaced() {
    assert_eq!(evaluate("redact('a@b.org 10.0.0.1', kinds = ['ip'])"), json!("a@b.org [ip]"));
    assert_eq!(evaluate("redact('a@b.org', kinds = [])"), json!("a@b.org"));
    assert!(
        fault("redact('', kinds = ['emails'])").contains("did you mean `email`?"),
        "{}",
        fault("redact('', kinds = ['emails'])")
    );
}

#[test]
fn hostile_texts_take_linear_time() {
    for part in [
        "a",
        "a@",
        "1-",
        "1 ",
        "4111 ",
        "eyJ-AKIA.",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "://a:",
        "::1.",
        "password=",
        "+1 ",
        "token:\\\"",
        "é",
    ] {
        let script = format!("len(redact({} * {}))", json!(part), 200_000 / part.len());
        let started = std::time::Instant::now();
        assert!(evaluate(&script).as_u64().unwrap() > 0);
        assert!(started.elapsed().as_secs() < 8, "{part}: {:?}", started.elapsed());
    }
}
