//! Given this statement, these rows or this error.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

struct TempFolder(PathBuf);

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl TempFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sqlite-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        TempFolder(path)
    }

    async fn perform(&self, path: &str, sql: &str, params: Value, wants: Wants) -> Result<Value, String> {
        let statement = Statement { database: path.into(), sql: sql.into(), params, wants };
        perform(&Folder::new(Some(&self.0)), &statement).await
    }

    async fn query(&self, sql: &str, params: Value) -> Result<Value, String> {
        self.perform("x.db", sql, params, Wants::Rows).await
    }

    async fn execute(&self, sql: &str, params: Value) -> Result<Value, String> {
        self.perform("x.db", sql, params, Wants::Count).await
    }
}

#[tokio::test]
async fn values_go_in_and_come_out() {
    let place = TempFolder::new("values");
    assert_eq!(place.execute("CREATE TABLE t (a, b, c, d, e)", Value::Null).await.unwrap(), 0);
    let values = json!([9007199254740993_i64, 1.5, "täxt", null, {"base64": "AAEC"}]);
    assert_eq!(place.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", values).await.unwrap(), 1);
    assert_eq!(
        place.query("SELECT * FROM t", Value::Null).await.unwrap(),
        json!([{"a": 9007199254740993_i64, "b": 1.5, "c": "täxt", "d": null, "e": {"base64": "AAEC"}}])
    );
    let named = json!({"low": 1, "kind": true, "$extra": "x"});
    let rows = place.query("SELECT :low AS low, @kind AS kind, $extra AS extra", named).await.unwrap();
    assert_eq!(rows, json!([{"low": 1, "kind": 1, "extra": "x"}]));
    assert_eq!(place.execute("INSERT INTO t (a) VALUES (1), (2) RETURNING a", Value::Null).await.unwrap(), 2);
    assert_eq!(perform(&Folder::new(Some(&place.0)), &list_tables("x.db")).await.unwrap(), json!([{"name": "t"}]));
    let described = perform(&Folder::new(Some(&place.0)), &describe_table("x.db", "t")).await.unwrap();
    assert_eq!(described[1], json!({"cid": 1, "name": "b", "type": "", "notnull": 0, "dflt_value": null, "pk": 0}));
    let odd = describe_table("x.db", "t'); DROP TABLE t; --");
    assert_eq!(perform(&Folder::new(Some(&place.0)), &odd).await.unwrap(), json!([]));
    place.execute("VACUUM", Value::Null).await.unwrap();
}

#[tokio::test]
async fn what_is_wrong_with_a_statement_is_said() {
    let place = TempFolder::new("wrong");
    place.execute("CREATE TABLE t (a)", Value::Null).await.unwrap();
    for (sql, params, expected) in [
        ("SELEC 1", json!(null), "near \"SELEC\": syntax error"),
        ("SELECT * FROM missing", json!(null), "no such table: missing"),
        ("SELECT ?", json!(null), "has 1 parameters, but no `params` are given"),
        ("SELECT ?", json!([1, 2]), "has 1 parameters, but `params` has 2"),
        ("SELECT :a", json!({"b": 1}), "`params` has no `a`"),
        ("SELECT ?", json!({"b": 1}), "unnamed parameters"),
        ("SELECT ?", json!([[1]]), "parameter 1: lists and dicts cannot be stored"),
        ("SELECT ?", json!([1e300]), "[]"),
        ("SELECT 1; DROP TABLE t", json!(null), "Multiple statements"),
        ("ATTACH 'other.db' AS other", json!(null), "must not leave its database"),
        ("ATTACH ? AS other", json!(["other.db"]), "must not leave its database"),
        ("SELECT load_extension('x')", json!(null), "not authorized"),
        ("PRAGMA temp_store_directory = '/tmp'", json!(null), "must not leave its database"),
    ] {
        match place.query(sql, params).await {
            Ok(_) => assert_eq!(expected, "[]", "{sql}"),
            Err(text) => assert!(text.contains(expected), "{sql}: {text}"),
        }
    }
    assert_eq!(place.query("SELECT count(*) AS n FROM t", Value::Null).await.unwrap(), json!([{"n": 0}]));
    let text = place.execute("VACUUM INTO '/tmp/stolen.db'", Value::Null).await.unwrap_err();
    assert!(text.contains("must not leave its database"), "{text}");
}

#[tokio::test]
async fn a_query_only_reads() {
    let place = TempFolder::new("reads");
    place.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b)", Value::Null).await.unwrap();
    place.execute("INSERT INTO t VALUES (1, 'kept')", Value::Null).await.unwrap();
    for sql in [
        "INSERT INTO t VALUES (2, 'x')",
        "INSERT INTO t VALUES (2, 'x') RETURNING a",
        "WITH n AS (SELECT 2 AS a) INSERT INTO t SELECT a, 'x' FROM n",
        "REPLACE INTO t VALUES (1, 'x')",
        "UPDATE t SET b = 'x'",
        "UPDATE t SET b = 'x' RETURNING b",
        "DELETE FROM t",
        "DROP TABLE t",
        "CREATE TABLE u (a)",
        "CREATE TEMP TABLE u (a)",
        "ALTER TABLE t ADD COLUMN c",
        "CREATE INDEX i ON t (b)",
        "VACUUM",
        "ANALYZE",
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = WAL",
    ] {
        let text = place.query(sql, Value::Null).await.unwrap_err();
        assert!(text.contains("use `sqlite.execute` for it"), "{sql}: {text}");
    }
    let before = std::fs::read(place.0.join("x.db")).unwrap();
    for sql in [
        "SELECT * FROM t",
        "PRAGMA table_info(t)",
        "EXPLAIN QUERY PLAN SELECT * FROM t",
        "VALUES (1)",
        "PRAGMA user_version",
    ] {
        place.query(sql, Value::Null).await.unwrap();
    }
    assert_eq!(place.query("SELECT * FROM t", Value::Null).await.unwrap(), json!([{"a": 1, "b": "kept"}]));
    assert_eq!(std::fs::read(place.0.join("x.db")).unwrap(), before);
}

#[tokio::test]
async fn files_outside_and_files_that_are_not_there() {
    let place = TempFolder::new("outside");
    assert!(place.perform("../x.db", "SELECT 1", Value::Null, Wants::Count).await.unwrap_err().contains("outside"));
    assert!(place.perform("file:x.db?mode=rwc", "SELECT 1", Value::Null, Wants::Rows).await.is_err());
    assert_eq!(place.query("SELECT 1", Value::Null).await.unwrap_err(), "file `x.db` not found");
    std::fs::write(place.0.join("x.db"), "no database at all, but text of some length").unwrap();
    assert!(place.query("SELECT * FROM t", Value::Null).await.unwrap_err().contains("not a database"));
    assert_eq!(place.perform(":memory:", "SELECT 1 AS a", Value::Null, Wants::Rows).await.unwrap(), json!([{"a": 1}]));
}

#[tokio::test]
async fn a_statement_that_nobody_waits_for_ends_and_a_huge_result_is_refused() {
    let place = TempFolder::new("endless");
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT";
    let flag: Arc<AtomicBool> = Arc::default();
    let statement = Statement {
        database: IN_MEMORY.into(),
        sql: format!("{endless} max(x) AS m FROM n"),
        params: Value::Null,
        wants: Wants::Rows,
    };
    let stopping = Arc::clone(&flag);
    let start = Instant::now();
    let work = tokio::task::spawn_blocking(move || run::run(&Database::InMemory, &statement, &stopping));
    flag.store(true, Ordering::Relaxed);
    assert!(work.await.unwrap().unwrap_err().contains("the statement was cancelled"));
    assert!(start.elapsed() < Duration::from_secs(20));
    let text = place
        .perform(":memory:", &format!("{endless} hex(zeroblob(100000)) AS t FROM n"), Value::Null, Wants::Rows)
        .await;
    assert!(text.unwrap_err().contains("use LIMIT to reduce it"));
}
