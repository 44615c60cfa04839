//! `sqlite` and `postgres`.

use serde_json::json;

use super::{one_tool, serving, started, world};
use crate::support::config::Config;
use crate::support::patience::within;
use crate::support::postgres::{PASSWORD, Postgres};
use crate::support::proxy::Proxy;

/// The test database is on this machine.
const LOCAL: &str = "allowed_hosts = ['127.0.0.1', 'localhost'],";

fn example(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("extensions").join(name);
    std::fs::read_to_string(path).expect("the example is there")
}

#[tokio::test]
async fn the_example_keeps_notes_in_sqlite() {
    let mut proxy = serving(&[("notes.star", &example("notes.star"))]).await;
    proxy.text("add", json!({"title": "b'; DROP TABLE notes; --", "body": "odd"})).await;
    assert_eq!(proxy.text("add", json!({"title": "milk", "body": "two"})).await, "noted: milk");
    proxy.text("add", json!({"title": "milk", "body": "three"})).await;
    assert_eq!(
        proxy.data("search", json!({"text": "thr"})).await,
        json!({"notes": [{"title": "milk", "body": "three"}]})
    );
    let read = proxy.client.request("resources/read", r#"{"uri":"notes://titles"}"#).await.value();
    assert_eq!(read["result"]["contents"][0]["text"], "b'; DROP TABLE notes; --\nmilk");
    let read = proxy.client.request("resources/read", r#"{"uri":"notes://note/milk"}"#).await.value();
    assert_eq!(read["result"]["contents"][0]["text"], "three");
    let missing = proxy.client.request("resources/read", r#"{"uri":"notes://note/bread"}"#).await;
    assert!(missing.error_message().starts_with("there is no note `bread`"), "{}", missing.raw);
    let prompt = proxy.client.request("prompts/get", r#"{"name":"review","arguments":{"about":"milk"}}"#).await.value();
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.ends_with("## milk\nthree"), "{text}");
    assert!(proxy.world.directory.path().join("tools/notes.db").is_file());
}

#[tokio::test]
async fn sqlite_stays_in_its_folder_and_its_database() {
    let body = "return {'rows': sqlite.query(params['path'], params['sql'])}";
    let mut proxy = serving(&[("one.star", &one_tool(body, ""))]).await;
    for (path, sql, expected) in [
        ("../proxy.yaml", "SELECT 1", "outside of the folder"),
        ("/etc/passwd", "SELECT 1", "outside of the folder"),
        ("none.db", "SELECT 1", "file `none.db` not found"),
        (":memory:", "ATTACH '/tmp/x.db' AS x", "must not leave its database"),
        (":memory:", "SELEC 1", "syntax error"),
        (
            ":memory:",
            "CREATE TABLE t (a)",
            "`sqlite.query` only reads, and this statement writes; use `sqlite.execute` for it",
        ),
        (":memory:", "SELECT * FROM missing", "no such table: missing"),
    ] {
        let text = proxy.fault("run", json!({"path": path, "sql": sql})).await;
        assert!(text.contains(expected) && text.contains("(one.star:2)"), "{path} {sql}: {text}");
    }
    let sql = "SELECT 1 AS i, 1.5 AS r, 'x' AS t, NULL AS n, x'00ff' AS b";
    let row = json!({"i": 1, "r": 1.5, "t": "x", "n": null, "b": {"base64": "AP8="}});
    assert_eq!(proxy.data("run", json!({"path": ":memory:", "sql": sql})).await["rows"][0], row);
}

/// In a process of its own, because the limit is of the process.
#[tokio::test]
async fn a_statement_cannot_take_the_memory_of_the_machine() {
    let body =
        "run = sqlite.execute if params['write'] else sqlite.query\nreturn {'answer': run(':memory:', params['sql'])}";
    let mut proxy = serving(&[("one.star", &one_tool(body, ""))]).await;
    let values = vec!["hex(zeroblob(8000000))"; 100].join(", ");
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";
    const TOGETHER: &str = "the statements of the proxy may use 256 MiB of memory together";
    for (sql, expected) in [
        ("SELECT zeroblob(900000000)".to_owned(), "too big"),
        ("SELECT length(hex(zeroblob(10000000)))".to_owned(), "too big"),
        ("SELECT length(printf('%900000000d', 1))".to_owned(), "too big"),
        (format!("SELECT '{}'", "x".repeat(2 << 20)), "a statement 1 MiB"),
        (format!("SELECT {values}"), TOGETHER),
        ("PRAGMA hard_heap_limit = 1000".to_owned(), "must not leave its database"),
        ("PRAGMA soft_heap_limit = 1000".to_owned(), "must not leave its database"),
    ] {
        let text = proxy.fault("run", json!({"sql": sql, "write": false})).await;
        assert!(text.contains(expected), "{}: {text}", &sql[..sql.len().min(60)]);
    }
    let sql = format!("CREATE TABLE t AS {endless} SELECT zeroblob(1000000) AS b FROM n");
    let text = proxy.fault("run", json!({"sql": sql, "write": true})).await;
    assert!(text.contains(TOGETHER), "{text}");
    let rows = proxy.data("run", json!({"sql": "SELECT 1 AS a", "write": false})).await;
    assert_eq!(rows, json!({"answer": [{"a": 1}]}));
}

#[tokio::test]
async fn a_cancelled_statement_is_interrupted() {
    let sql = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
    let body = format!("return sqlite.query(':memory:', '{sql}')");
    let mut proxy = serving(&[("one.star", &one_tool(&body, ""))]).await;
    let (pid, log) = (proxy.client.program.id(), proxy.client.stderr().clone());
    // Given statements that would never end by themselves,
    let mut calls = Vec::new();
    for _ in 0..20 {
        calls.push(proxy.client.begin("tools/call", r#"{"name":"run","arguments":{}}"#).await);
    }
    within("statements that compute", &log, until(|| computing_threads(pid) > 0)).await;
    // when they are cancelled,
    for id in calls {
        proxy.client.notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#)).await;
    }
    // then none of them goes on, and the proxy is at work.
    let mut quiet = 0;
    let is_quiet = || {
        quiet = if computing_threads(pid) == 0 { quiet + 1 } else { 0 };
        quiet == 10
    };
    within("a proxy that computes nothing", &log, until(is_quiet)).await;
    proxy.client.request("ping", "{}").await.result();
}

/// Looks until something is so. No event tells what other processes do.
async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// The threads of a process that are running or want to.
fn computing_threads(pid: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten();
    let states = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    // The state comes after the name, which is in parentheses.
    states.filter(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))).count()
}

#[tokio::test]
async fn the_example_looks_at_postgres() {
    let Some(postgres) = Postgres::start().await else { return };
    let prepare = one_tool(
        "return {'changed': postgres.execute(env.get('DATABASE_URL'), params['sql'], params.get('params'))}",
        LOCAL,
    );
    let world = world(&[("database.star", &example("database.star")), ("one.star", &prepare)]);
    let mut proxy = started(world.environment("DATABASE_URL", &postgres.url())).await;
    proxy
        .data("run", json!({"sql": "CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL, email varchar(80))"}))
        .await;
    let insert = json!({"sql": "INSERT INTO users VALUES ($1, $2, NULL), ($3, $4, $5)", "params": [1, "Ann'; --", 2, "Bob", "b@x.test"]});
    assert_eq!(proxy.data("run", insert).await, json!({"changed": 2}));
    assert_eq!(proxy.data("tables", json!({})).await, json!({"tables": ["users"]}));
    let described = proxy.data("describe", json!({"table": "users"})).await;
    assert_eq!(described["columns"][1], json!({"name": "name", "type": "text", "required": true}));
    let query =
        json!({"sql": "SELECT id, name, email FROM users WHERE id < $1 ORDER BY id;", "params": [9], "limit": 1});
    assert_eq!(proxy.data("query", query).await, json!({"rows": [{"id": 1, "name": "Ann'; --", "email": null}]}));
    let hidden = json!({"sql": "SELECT * FROM users) AS mine --", "limit": 1});
    assert!(proxy.fault("query", hidden).await.contains("syntax error"), "a comment hides the limit");
    let text = proxy.fault("query", json!({"sql": "SELECT 1 FROM nothing_there"})).await;
    assert!(text.contains("relation \"nothing_there\" does not exist [42P01]"), "{text}");
}

#[tokio::test]
async fn values_of_postgres_become_json() {
    let Some(postgres) = Postgres::start().await else { return };
    let body = "return {'rows': postgres.query(env.get('DATABASE_URL'), params['sql'], params.get('params'))}";
    let mut proxy =
        started(world(&[("one.star", &one_tool(body, LOCAL))]).environment("DATABASE_URL", &postgres.url())).await;
    for (expression, expected) in [
        ("true", json!(true)),
        ("9007199254740993::int8", json!(9007199254740993_i64)),
        ("1.5::float8", json!(1.5)),
        ("0.1::float4", json!(0.1)),
        ("12.50::numeric", json!(12.5)),
        ("123456789012345678901234567890::numeric", serde_json::from_str("123456789012345678901234567890").unwrap()),
        ("'NaN'::numeric", json!("NaN")),
        ("NULL::int", json!(null)),
        ("'{\"a\": [1, null]}'::jsonb", json!({"a": [1, null]})),
        ("'[1]'::json", json!([1])),
        ("ARRAY[1, NULL, 3]", json!([1, null, 3])),
        ("ARRAY[['a', 'b'], ['c', 'd']]", json!([["a", "b"], ["c", "d"]])),
        ("'2026-11-15'::date", json!("2026-11-15")),
        ("'2026-11-15 12:30:00.5+02'::timestamptz", json!("2026-11-15T10:30:00.5Z")),
        ("'2026-11-15 12:30:00'::timestamp", json!("2026-11-15T12:30:00")),
        ("'12:30:00'::time", json!("12:30:00")),
        ("'1 year 2 days 3.5 seconds'::interval", json!("P1Y2DT3.5S")),
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        ("'\\x00ff'::bytea", json!({"base64": "AP8="})),
        ("'10.0.0.0/8'::cidr", json!("10.0.0.0/8")),
    ] {
        let rows = proxy.data("run", json!({"sql": format!("SELECT {expression} AS v")})).await;
        assert_eq!(rows, json!({"rows": [{"v": expected}]}), "{expression}");
    }
    let given = json!([7, 1.25, "2026-01-02", ["a\"b", null], {"k": [1]}, true, null, {"base64": "AP8="}]);
    let sql = "SELECT $1::int4 AS a, $2::numeric AS b, $3::date AS c, $4::text[] AS d, $5::jsonb AS e, $6::bool AS f, $7::text AS g, $8::bytea AS h";
    let rows = proxy.data("run", json!({"sql": sql, "params": given})).await;
    let expected = json!({"a": 7, "b": 1.25, "c": "2026-01-02", "d": ["a\"b", null], "e": {"k": [1]}, "f": true, "g": null, "h": {"base64": "AP8="}});
    assert_eq!(rows["rows"][0], expected);
    for (sql, params, part) in [
        ("SELECT point(1, 2) AS p", json!([]), "column `p`: type `point` has no JSON representation"),
        ("SELECT $1::int4", json!(["x"]), "invalid input syntax for type integer"),
        ("SELECT $1::int4", json!([]), "has 1 parameters, but `params` has 0"),
        ("SELECT 1; SELECT 2", json!([]), "cannot insert multiple commands"),
        ("SELEC 1", json!([]), "syntax error"),
    ] {
        let text = proxy.fault("run", json!({"sql": sql, "params": params})).await;
        assert!(text.contains(part), "{sql}: {text}");
    }
}

#[tokio::test]
async fn no_password_is_told_and_narrowed_hosts_hold_for_databases_too() {
    let Some(postgres) = Postgres::start().await else { return };
    let body = "return postgres.query(params['connection'], 'SELECT 1')";
    let narrow = one_tool(body, "allowed_hosts = ['db.example.com'],")
        .replace("\"one\"", "\"two\"")
        .replace("\"run\"", "\"narrow\"");
    let config =
        Config::new().section("extensions: { paths: [tools] }").section("sessionInit: { preset: passthrough }");
    let proxy = Proxy::new(&config).file("tools/one.star", &one_tool(body, LOCAL)).file("tools/two.star", &narrow);
    let mut proxy = started(proxy).await;
    let wrong = format!("postgresql://ann:{PASSWORD}-wrong@127.0.0.1:{}/postgres", postgres.port());
    for connection in [
        wrong.clone(),
        format!("postgresql://ann:{PASSWORD}@127.0.0.1:1/postgres"),
        format!("postgresql://ann:{PASSWORD}@127.0.0.1:not-a-port/postgres"),
        format!("host=127.0.0.1 password={PASSWORD} nonsense=1"),
    ] {
        let text = proxy.fault("run", json!({"connection": connection})).await;
        assert!(!text.contains(PASSWORD), "{text}");
    }
    let text = proxy.fault("run", json!({"connection": wrong})).await;
    assert!(text.contains("password authentication failed"), "{text}");
    // Also where a name that is allowed stands beside the address that is meant.
    let disguised = format!("host=db.example.com hostaddr=127.0.0.1 port={} user=ann", postgres.port());
    for connection in [postgres.url(), disguised] {
        let text = proxy.fault("narrow", json!({"connection": connection})).await;
        assert!(text.contains("host `127.0.0.1` (port") && text.contains("is not in `allowed_hosts`"), "{text}");
    }
    assert!(!proxy.client.stderr().text().contains(PASSWORD));
}

#[tokio::test]
async fn a_postgres_that_demands_tls_gets_it_and_its_certificate_is_checked_as_far_as_asked() {
    let Some(postgres) = Postgres::start_with_tls().await else { return };
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let body = format!("return {{'rows': postgres.query(params['connection'], '{sql}')}}");
    let world = world(&[("one.star", &one_tool(&body, LOCAL)), ("db.pem", &postgres.certificate())]);
    let mut proxy = started(world.file("elsewhere.pem", &postgres.certificate())).await;
    let by_address = postgres.url();
    let by_name = by_address.replace("127.0.0.1", "localhost");
    for connection in [
        by_address.clone(),
        format!("{by_address}?sslmode=prefer"),
        format!("{by_address}?sslmode=require&channel_binding=require"),
        format!("{by_address}?sslmode=verify-ca&sslrootcert=db.pem"),
        format!("{by_name}?sslmode=verify-full&sslrootcert=db.pem"),
        format!(
            "host=localhost port={} user=ann password='{PASSWORD}' dbname=postgres sslmode=verify-full sslrootcert='db.pem'",
            postgres.port()
        ),
    ] {
        let told = proxy.data("run", json!({"connection": connection})).await;
        assert_eq!(told, json!({"rows": [{"ssl": true}]}), "{connection}");
    }
    for (connection, expected) in [
        (format!("{by_address}?sslmode=disable"), "no encryption"),
        (format!("{by_name}?sslmode=verify-full"), "UnknownIssuer (set `sslrootcert=FILE` in the connection string"),
        (format!("{by_address}?sslmode=verify-full&sslrootcert=db.pem"), "certificate not valid for name"),
        (format!("{by_address}?sslmode=verify-full&sslrootcert=none.pem"), "`sslrootcert`: file"),
        (format!("{by_address}?sslmode=verify-full&sslrootcert=../elsewhere.pem"), "outside of the folder"),
        (format!("{by_address}?sslmode=require&sslrootcert=one.star"), "no usable certificates in `one.star`"),
        (format!("{by_address}?sslmode=full"), "must be disable, prefer, require, verify-ca or verify-full"),
    ] {
        let text = proxy.fault("run", json!({"connection": connection})).await;
        assert!(text.contains(expected) && !text.contains(PASSWORD), "{connection}: {text}");
    }
}

#[tokio::test]
async fn tls_that_is_required_is_not_done_without() {
    let Some(postgres) = Postgres::start().await else { return };
    let body = "return {'rows': postgres.query(params['connection'], 'SELECT 1 AS one')}";
    let mut proxy = serving(&[("one.star", &one_tool(body, LOCAL))]).await;
    let text = proxy.fault("run", json!({"connection": postgres.url() + "?sslmode=require"})).await;
    assert!(text.contains("server does not support TLS (use `sslmode=prefer`"), "{text}");
    let told = proxy.data("run", json!({"connection": postgres.url() + "?sslmode=prefer"})).await;
    assert_eq!(told, json!({"rows": [{"one": 1}]}));
}

#[tokio::test]
async fn without_allowed_hosts_no_database_on_this_machine_is_reached() {
    let body = "return postgres.query(params['connection'], 'SELECT 1')";
    let mut proxy = serving(&[("one.star", &one_tool(body, ""))]).await;
    for connection in ["postgresql://ann@127.0.0.1/x", "postgresql://ann@169.254.169.254/x", "host=/var/run/postgresql"]
    {
        let text = proxy.fault("run", json!({"connection": connection})).await;
        assert!(text.contains("is not a public address; to reach it, name the host in `allowed_hosts`"), "{text}");
    }
}
