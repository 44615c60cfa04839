//! Extensions in the shapes that the `starlark-mcp` server has made known: they load, run and pass their tests unchanged.

use serde_json::json;

use super::{started, world};
use crate::support::config::Config;
use crate::support::postgres::Postgres;
use crate::support::proxy::Proxy;

const FILES: [(&str, &str); 9] = [
    ("fruit_facts.star", include_str!("fruit_facts.star")),
    ("fruit_facts_test.star", include_str!("fruit_facts_test.star")),
    ("orchard.star", include_str!("orchard.star")),
    ("orchard_test.star", include_str!("orchard_test.star")),
    ("orchard_items.json", include_str!("orchard_items.json")),
    ("listing.star", include_str!("listing.star")),
    ("tables.star", include_str!("tables.star")),
    ("warehouse.star", include_str!("warehouse.star")),
    ("weather_desk.star", include_str!("weather_desk.star")),
];

#[tokio::test]
async fn they_load_and_run() {
    let mut proxy = started(world(&FILES)).await;
    assert!(proxy.text("get_fruit_fact", json!({})).await.contains("fruit"));
    assert_eq!(proxy.text("find_item", json!({"query": "ladder", "limit": 2})).await, "Found 1 items matching: ladder");
    let listed = proxy.text("list_files", json!({"path": proxy.world.directory.path().join("tools")})).await;
    assert!(listed.contains("orchard.star"), "{listed}");
    assert_eq!(proxy.text("make_table", json!({"db_path": "shop.db"})).await, "made, 0 affected");
    assert_eq!(
        proxy.text("show_tables", json!({"db_path": "shop.db"})).await,
        "Found 1 tables:\n  - fruit (2 columns, 2 rows)\n"
    );
    let failed = proxy.fault("show_tables", json!({})).await;
    assert!(failed.contains("invalid arguments") && failed.contains("db_path"), "{failed}");
    assert_eq!(proxy.fault("desk_report", json!({"city": ""})).await, "Error: city parameter is required");
}

#[tokio::test]
async fn their_database_tools_run() {
    let Some(postgres) = Postgres::start().await else { return };
    // The one change: this database is not on the public internet.
    let named = "version = \"1.0.0\",\n        allowed_hosts = [\"127.0.0.1\"],";
    let warehouse = include_str!("warehouse.star").replace("version = \"1.0.0\",", named);
    let world = world(&FILES).file("tools/warehouse.star", &warehouse);
    let mut proxy = started(world.environment("WAREHOUSE_CONNECTION_STRING", &postgres.url())).await;
    assert_eq!(proxy.text("warehouse_setup", json!({})).await, "inserted 2");
    let told = proxy.text("warehouse_tables", json!({"schema": "public"})).await;
    assert_eq!(
        told,
        "Found 1 table(s) in schema 'public':\ncrates: id integer NOT NULL, label character varying(20) NULL, \n"
    );
}

#[tokio::test]
async fn their_tests_pass() {
    let world = Proxy::new(&Config::new());
    for (name, text) in FILES {
        world.directory.write(&format!("tools/{name}"), text);
    }
    let told = world.run(["test", "tools"]).await.expect(0);
    assert!(told.stdout.contains("7 tests, all passed"), "{}{}", told.stdout, told.stderr);
}
