//! Descriptions of APIs: one with many operations, and one whose only operation is the tool that all parts call.

use serde_json::{Map, Value, json};

pub const LIST: &str = r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#;

/// How many operations share what their schemas refer to.
const GROUP: usize = 10;

/// The tool `echo` at `POST /echo`.
pub fn echo() -> String {
    let body = json!({"type": "object", "properties": {"text": {"type": "string"}, "number": {"type": "integer"}}});
    let operation = json!({
        "operationId": "echo",
        "requestBody": {"content": {"application/json": {"schema": body}}},
        "responses": {"200": {"description": "the answer"}},
    });
    description(json!({"/echo": {"post": operation}}), json!({})).to_string()
}

/// So many operations, `op0` and so on, with parameters, a body and a response, as APIs of others have them.
pub fn of_operations(count: usize) -> String {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for number in 0..count {
        let group = number / GROUP;
        let content = json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/Order{group}")}}});
        let parameters = ["limit", "cursor", "expand"].map(|name| {
            json!({"name": name, "in": "query", "description": "How much of the answer is wanted, and from where",
                "schema": {"type": "string", "maxLength": 100}})
        });
        let operation = json!({
            "operationId": format!("op{number}"),
            "summary": format!("Changes order {number}"),
            "description": "Changes what is known of an order. Only those may do so who have made it, or who sell it.",
            "tags": [format!("group{group}")],
            "parameters": parameters,
            "requestBody": {"content": content},
            "responses": {"200": {"description": "the order", "content": content}},
        });
        paths.insert(format!("/orders/{number}"), json!({ "post": operation }));
        schemas.entry(format!("Order{group}")).or_insert_with(|| {
            let mut order = record(group);
            order["properties"]["buyer"] = json!({"$ref": format!("#/components/schemas/Person{group}")});
            order
        });
        schemas.entry(format!("Person{group}")).or_insert_with(|| record(group));
    }
    description(Value::Object(paths), Value::Object(schemas)).to_string()
}

fn description(paths: Value, schemas: Value) -> Value {
    json!({"openapi": "3.1.0", "info": {"title": "Orders", "version": "1"}, "paths": paths,
        "components": {"schemas": schemas}})
}

fn record(group: usize) -> Value {
    let property = |number| {
        let about = format!("Property {number} of what group {group} has, in the form that is usual for it");
        (format!("property{number}"), json!({"type": "string", "description": about, "maxLength": 255}))
    };
    let properties: Map<String, Value> = (0..10).map(property).collect();
    json!({"type": "object", "required": ["property0"], "properties": properties})
}
