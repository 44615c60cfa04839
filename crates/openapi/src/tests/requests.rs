//! Requests, and what is made of responses.

use http::Method;
use proxy_json::RawRef;
use url::Url;

use super::*;
use crate::ApiResponse;

#[test]
fn names_that_collide_tell_where_they_belong() {
    let operation = json!({
        "parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
            {"name": "id", "in": "query", "schema": {"type": "string"}},
            {"name": "id", "in": "header", "schema": {"type": "string"}},
            {"name": "id", "in": "cookie", "schema": {"type": "string"}},
            {"name": "path_id", "in": "query", "schema": {"type": "string"}},
        ],
        "requestBody": {"content": {"application/json": {"schema": {"type": "object",
            "properties": {"id": {"type": "string"}, "name": {"type": "string"}}}}}},
    });
    let tool = tool("post", "/a/{id}", operation);
    let names: Vec<String> = input(&tool)["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["path_id_2", "query_id", "header_id", "cookie_id", "path_id", "body_id", "name"]);
    let arguments =
        json!({"path_id_2": "p", "query_id": "q", "header_id": "h", "cookie_id": "c", "path_id": "x", "body_id": "b"});
    let request = request(&tool, arguments).unwrap();
    assert_eq!((request.path.as_str(), request.query.as_str()), ("/a/p", "id=q&path_id=x"));
    assert_eq!((header(&request, "id"), header(&request, "cookie")), (Some("h"), Some("id=c")));
    assert_eq!(body(&request), r#"{"id":"b"}"#);
}

#[test]
fn arguments_have_names_that_every_client_takes_and_requests_those_of_the_api() {
    let query = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}});
    let long = "x".repeat(70);
    let parameters: Vec<Value> =
        ["$filter", "page[size]", "page_size", "StartTime", "StartTime<", "StartTime>", "имя", "[]", &long]
            .map(query)
            .into();
    let members = json!({"type": "object", "properties": {"$filter": {}, "a b": {}, "a/b": {}}, "required": ["a b"],
        "additionalProperties": true});
    let operation = json!({"parameters": parameters, "requestBody": json_body(members)["requestBody"]});
    let tool = tool("post", "/a", operation);
    let schema = input(&tool);
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let expected = [
        "query_filter",
        "page_size_2",
        "page_size",
        "StartTime",
        "StartTime_before",
        "StartTime_after",
        "query",
        "query_2",
        &long[..64],
        "body_filter",
        "a_b",
        "a_b_2",
    ];
    assert_eq!(names, expected);
    assert_eq!(schema["required"], json!(["a_b"]));
    let arguments = json!({"query_filter": "f", "page_size_2": "s", "StartTime_before": "b", "query": "n", "body_filter": 1,
        "a_b": 2, "a_b_2": 3, "free name": 4});
    let sent = request(&tool, arguments).unwrap();
    assert_eq!(sent.query, "%24filter=f&page%5Bsize%5D=s&StartTime%3C=b&%D0%B8%D0%BC%D1%8F=n");
    assert_eq!(body(&sent), r#"{"$filter":1,"a b":2,"a/b":3,"free name":4}"#);
    assert!(request(&tool, json!({"a_b": 2, "a/b": 3})).is_err(), "it would be there twice");
}

#[test]
fn lists_and_unions_are_one_argument() {
    for schema in [
        json!({"type": "array", "items": {"type": "integer"}}),
        json!({"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "string"}),
        json!({}),
    ] {
        let tool = tool("post", "/a", json_body(schema.clone()));
        assert_eq!(input(&tool)["required"], json!(["body"]), "{schema}");
        let request = request(&tool, json!({"body": [1, 2]})).unwrap();
        assert_eq!(body(&request), "[1,2]");
    }
    // Alternatives that only require members are the API's to check.
    let constrained = json!({"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert!(input(&tool("post", "/a", json_body(constrained)))["properties"].get("b").is_some());
}

#[test]
fn a_json_body_keeps_the_bytes_of_its_values() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "number"}, "o": {}}});
    let tool = tool("post", "/a", json_body(schema));
    let arguments = proxy_json::valid(r#"{"o": {"b":1e400, "a":1.10}, "n": 1.10}"#.to_owned()).unwrap();
    let request = tool.request(&arguments).unwrap();
    assert_eq!(body(&request), r#"{"n":1.10,"o":{"b":1e400, "a":1.10}}"#);
    assert_eq!(header(&request, "content-type"), Some("application/json"));
    assert_eq!(body(&super::request(&tool, json!({})).unwrap()), "{}", "a body is required");
}

#[test]
fn a_form_has_brackets_where_the_description_says_so() {
    let deep = json!({"style": "deepObject", "explode": true});
    let schema = json!({"type": "object", "required": ["amount"], "properties": {
        "amount": {"type": "integer"},
        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "string"}}}},
        "expand": {"type": "array", "items": {"type": "string"}},
        "description": {"type": "string"},
    }});
    let encoding = json!({"metadata": deep, "items": deep, "expand": deep});
    let content = json!({"application/x-www-form-urlencoded": {"schema": schema, "encoding": encoding}});
    let tool = tool("post", "/charges", json!({"requestBody": {"required": true, "content": content}}));
    let arguments = json!({"amount": 5, "metadata": {"order id": "7&8"}, "items": [{"price": "p"}], "expand": ["a", "b"],
        "description": ""});
    let request = request(&tool, arguments).unwrap();
    let decoded = percent_encoding::percent_decode_str(&body(&request)).decode_utf8().unwrap().into_owned();
    assert_eq!(decoded, "amount=5&metadata[order id]=7&8&items[0][price]=p&expand[0]=a&expand[1]=b&description=");
    assert!(body(&request).contains("7%268"));
    assert_eq!(header(&request, "content-type"), Some("application/x-www-form-urlencoded"));
}

#[test]
fn files_are_base64_in_arguments_and_bytes_in_requests() {
    let schema = json!({"type": "object", "required": ["file"], "properties": {
        "file": {"type": "string", "format": "binary"}, "caption": {"type": "string"},
    }});
    let form = tool(
        "post",
        "/a",
        json!({"requestBody": {"required": true, "content": {"multipart/form-data": {"schema": schema}}}}),
    );
    assert_eq!(input(&form)["properties"]["file"]["contentEncoding"], "base64");
    let sent = request(&form, json!({"file": "data:image/png;base64,iVBORw==", "caption": "hi"})).unwrap();
    let bytes = sent.body.unwrap();
    assert!(bytes.windows(8).any(|part| part == b"\r\n\r\n\x89PNG"));
    assert!(request(&form, json!({"file": "no base64"})).unwrap_err().contains("`file`"));
    let upload = json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}});
    let raw = tool("put", "/a", json!({"requestBody": {"required": true, "content": upload}}));
    let sent = request(&raw, json!({"body": "iVBORw=="})).unwrap();
    assert_eq!(
        (sent.body.as_deref(), header(&sent, "content-type")),
        (Some(&b"\x89PNG"[..]), Some("application/octet-stream"))
    );
}

#[test]
fn files_that_may_be_missing_are_files() {
    let binary = json!({"type": "string", "format": "binary"});
    let none = json!({"type": "null"});
    let list = json!({"type": "array", "items": {"anyOf": [binary, none]}});
    let text = json!({"type": "string"});
    for (schema, is_file) in [
        (json!({"anyOf": [binary, none]}), true),
        (json!({"oneOf": [none, list]}), true),
        (json!({"allOf": [binary], "description": "x"}), true),
        (json!({"type": ["string", "null"], "format": "binary"}), true),
        (json!({"anyOf": [{"allOf": [binary]}, list]}), true),
        (json!({"anyOf": [binary, text]}), false),
        (json!({"anyOf": [none]}), false),
        (json!({"allOf": [text]}), false),
    ] {
        let members = json!({"type": "object", "properties": {"file": schema}});
        let content = json!({"multipart/form-data": {"schema": members}});
        let form = tool("post", "/a", json!({"requestBody": {"content": content}}));
        let sent = body(&request(&form, json!({"file": "aGk="})).unwrap());
        assert_eq!(sent.contains("\r\n\r\nhi\r\n"), is_file, "{schema}: {sent}");
    }
}

#[test]
fn a_text_that_only_the_model_can_write_is_a_string() {
    let object = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let xml = |schema: Value| {
        let body = json!({"description": "A pet.", "content": {"application/xml": {"schema": schema}}});
        tool("post", "/a", json!({ "requestBody": body }))
    };
    let tool = xml(object);
    let schema = input(&tool)["properties"]["body"].clone();
    assert_eq!(schema, json!({"type": "string", "description": "The text of the body (application/xml). A pet."}));
    assert_eq!(body(&request(&tool, json!({"body": "<a/>"})).unwrap()), "<a/>");
    let error = request(&tool, json!({"body": {"a": "1"}})).unwrap_err();
    assert_eq!(error, "the argument `body` must be a string: the text of the body, as application/xml");
    for (schema, value, text) in
        [(json!({"type": "integer"}), json!(5), "5"), (json!({"type": "string"}), json!("x"), "x")]
    {
        let tool = xml(schema.clone());
        assert_eq!(input(&tool)["properties"]["body"]["type"], schema["type"]);
        assert_eq!(body(&request(&tool, json!({"body": value})).unwrap()), text);
    }
}

#[test]
fn styles_of_parameters_are_kept() {
    let array = json!({"type": "array", "items": {"type": "string"}});
    let parameter = |name: &str, place: &str, style: &str, explode: bool| json!({"name": name, "in": place, "style": style, "explode": explode, "schema": array});
    let tool = tool(
        "get",
        "/a{m}/{l}",
        json!({"parameters": [
            parameter("m", "path", "matrix", true),
            parameter("l", "path", "label", false),
            parameter("f", "query", "form", false),
            parameter("p", "query", "pipeDelimited", false),
            parameter("s", "query", "spaceDelimited", false),
            parameter("d", "query", "deepObject", true),
            parameter("w", "query", "nonsense", true),
            parameter("X-H", "header", "simple", false),
            parameter("c", "cookie", "form", true),
            {"name": "j", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
            {"name": "r", "in": "query", "allowReserved": true, "schema": {"type": "string"}},
        ]}),
    );
    let two = json!(["1", "2"]);
    let arguments = json!({"m": two, "l": two, "f": two, "p": two, "s": two, "d": {"k": "v"}, "w": two, "X-H": two, "c": ["1"],
        "j": {"a": 1}, "r": "a/b?c&d=e"});
    let request = request(&tool, arguments).unwrap();
    assert_eq!(request.path, "/a;m=1;m=2/.1,2");
    let query = "f=1,2&p=1%7C2&s=1%202&d%5Bk%5D=v&w=1&w=2&j=%7B%22a%22%3A1%7D&r=a/b?c%26d%3De";
    assert_eq!(request.query, query);
    assert_eq!((header(&request, "x-h"), header(&request, "cookie")), (Some("1,2"), Some("c=1")));
}

#[test]
fn headers_of_http_and_of_the_config_are_no_arguments() {
    let names =
        ["Host", "Authorization", "Accept", "Content-Type", "X-Forwarded-For", "Cookie", "X-Api-Key", "X-Mine", "X-Ok"];
    let parameters: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "in": "header", "required": true, "schema": {}})).collect();
    let description = json!({
        "openapi": "3.0.0",
        "paths": {"/a": {"get": {"parameters": parameters}}},
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-api-key"}}},
    });
    let headers = ["x-mine".to_owned()];
    let api = Api::from_value(&description, Source { headers: &headers, ..SOURCE }).unwrap();
    assert_eq!(input(&api.tools[0])["required"], json!(["X-Ok"]));
    for value in ["a\r\nHost: evil", "ä", "\u{7f}"] {
        assert!(request(&api.tools[0], json!({"X-Ok": value})).unwrap_err().contains("printable ASCII"), "{value:?}");
    }
}

#[test]
fn empty_values_are_sent_and_missing_ones_are_not() {
    let parameters = json!([
        {"name": "q", "in": "query", "allowEmptyValue": true, "schema": {"type": "string"}},
        {"name": "n", "in": "query", "schema": {"type": "string"}},
        {"name": "l", "in": "query", "schema": {"type": "array"}},
    ]);
    let tool = tool("get", "/a", json!({ "parameters": parameters }));
    assert_eq!(request(&tool, json!({"q": "", "n": null, "l": []})).unwrap().query, "q=");
    assert_eq!(request(&tool, json!({})).unwrap().query, "");
    let error = request(&tool, json!({"typo": 1})).unwrap_err();
    assert_eq!(error, "unknown argument `typo`; the arguments of this tool are `q`, `n`, `l`");
}

#[test]
fn requests_stay_below_the_url_of_the_config() {
    let paths = json!({"/a/{b}": {"get": {}, "servers": [{"url": "https://evil.example"}]}, "//evil.example/x": {"get": {}},
        "/../x": {"get": {}}, "x": {"get": {}}});
    let api = api(paths, json!({}));
    assert_eq!(api.tools.len(), 1);
    assert_eq!(api.notes.len(), 4, "{:?}", api.notes);
    let base = Url::parse("https://api.example:8443/v1/?key=secret#x").unwrap();
    let url = |value: &str| request(&api.tools[0], json!({"b": value})).map(|request| String::from(request.url(&base)));
    assert_eq!(url("c d").unwrap(), "https://api.example:8443/v1/a/c%20d?key=secret");
    assert_eq!(
        url("http://evil.example/").unwrap(),
        "https://api.example:8443/v1/a/http%3A%2F%2Fevil.example%2F?key=secret"
    );
    assert_eq!(url("%2e%2e").unwrap(), "https://api.example:8443/v1/a/%252e%252e?key=secret");
    assert_eq!(url("@evil.example").unwrap(), "https://api.example:8443/v1/a/%40evil.example?key=secret");
    for value in ["..", "../..", "..\\..", "a/../b", "."] {
        assert!(url(value).is_err(), "{value}");
    }
}

#[test]
fn a_path_variable_that_is_not_described_is_an_argument() {
    let unused = json!([{"name": "old", "in": "path", "required": true, "schema": {"type": "string"}}]);
    let tool = tool("get", "/a/{id}?action=run#x", json!({ "parameters": unused }));
    assert_eq!(input(&tool)["required"], json!(["id"]));
    let request = request(&tool, json!({"id": 7})).unwrap();
    assert_eq!((request.method, request.path.as_str(), request.query.as_str()), (Method::GET, "/a/7", "action=run"));
}

#[test]
fn the_first_media_type_that_we_write_is_used() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let content = json!({"application/xml": {"schema": schema}, "application/x-www-form-urlencoded": {"schema": schema},
        "application/json": {"schema": schema}});
    let form = tool("post", "/a", json!({"requestBody": {"content": content}}));
    assert_eq!(body(&request(&form, json!({"a": "1"})).unwrap()), "a=1");
    assert_eq!(request(&form, json!({})).unwrap().body, None, "the body may be left out");
    let xml = tool("post", "/a", json!({"requestBody": {"content": {"application/xml": {"schema": schema}}}}));
    assert_eq!(body(&request(&xml, json!({"body": "<a/>"})).unwrap()), "<a/>");
    for range in ["application/*+json", "*/*", ""] {
        let any = tool("post", "/a", json!({"requestBody": {"content": { range: {"schema": schema}}}}));
        let request = request(&any, json!({"a": "1"})).unwrap();
        assert_eq!(header(&request, "content-type"), Some("application/json"), "{range}");
        assert_eq!(body(&request), r#"{"a":"1"}"#);
    }
    let injected = json!({"text/x\r\nX-Evil: 1": {"schema": {"type": "string"}}});
    let injected = tool("post", "/a", json!({"requestBody": {"content": injected}}));
    assert_eq!(
        header(&request(&injected, json!({"body": "x"})).unwrap(), "content-type"),
        Some("application/octet-stream")
    );
}

#[test]
fn unnamed_arguments_go_where_the_body_is_open() {
    let schema = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}});
    let open = tool("post", "/a", json_body(schema));
    assert_eq!(input(&open)["additionalProperties"], json!({"type": "integer"}));
    assert_eq!(body(&request(&open, json!({"a": 1, "b": 2})).unwrap()), r#"{"a":1,"b":2}"#);
    let closed = tool("post", "/a", json_body(json!({"type": "object", "properties": {"a": {}}})));
    assert!(request(&closed, json!({"a": 1, "b": 2})).is_err());
    assert!(closed.request(RawRef::ZERO).is_err());
}

#[test]
fn a_response_that_is_not_as_described_is_noticed() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let responses = json!({"200": {"content": {"application/json": {"schema": schema}}}});
    let tool = tool("get", "/a", json!({ "responses": responses }));
    let mismatch = |status: u16, body: &'static str| {
        let body = body.as_bytes();
        let response = ApiResponse { status, content_type: "application/json", body, ..ApiResponse::default() };
        tool.output_mismatch(&response.result(&tool.name))
    };
    assert_eq!(mismatch(200, "{\"a\":1}"), None);
    assert!(mismatch(200, "{\"a\":\"1\"}").is_some());
    assert_eq!(mismatch(200, "<html>").unwrap(), "the response is not JSON");
    assert_eq!(mismatch(404, "<html>"), None, "an error promises nothing");
    let without = tool.definition_without_output_schema();
    assert!(!without.get().contains("outputSchema") && without.get().contains("inputSchema"));
}

#[test]
fn the_keys_of_an_argument_cannot_name_credentials_or_other_parameters() {
    let object = json!({"type": "object"});
    let parameters = json!([
        {"name": "filter", "in": "query", "schema": object},
        {"name": "deep", "in": "query", "style": "deepObject", "explode": true, "schema": object},
        {"name": "page", "in": "query", "schema": {"type": "integer"}},
        {"name": "deep[x]", "in": "query", "schema": {"type": "integer"}},
        {"name": "prefs", "in": "cookie", "style": "form", "explode": true, "schema": object},
        {"name": "theme", "in": "cookie", "schema": {"type": "string"}},
        {"name": "key", "in": "query", "schema": {"type": "string"}},
        {"name": "tenant", "in": "query", "schema": {"type": "string"}},
    ]);
    let description = json!({
        "openapi": "3.0.0",
        "paths": {"/a?action=run": {"get": {"parameters": parameters}}},
        "components": {"securitySchemes": {
            "key": {"type": "apiKey", "in": "query", "name": "key"},
            "session": {"type": "apiKey", "in": "cookie", "name": "sid"},
        }},
    });
    let query = ["tenant".to_owned()];
    let api = Api::from_value(&description, Source { query: &query, ..SOURCE }).unwrap();
    let tool = &api.tools[0];
    let names: Vec<String> = input(tool)["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["filter", "deep", "page", "deep_x", "prefs", "theme"], "what the config sets is no argument");
    for (argument, key) in [
        ("filter", "key"),
        ("filter", "tenant"),
        ("filter", "page"),
        ("filter", "action"),
        ("deep", "x"),
        ("prefs", "sid"),
        ("prefs", "theme"),
    ] {
        let error = request(tool, json!({argument: {"ok": 1, key: "evil"}})).unwrap_err();
        assert!(
            error.contains(&format!("the argument `{argument}` must not have the key")),
            "{argument} {key}: {error}"
        );
    }
    let sent =
        request(tool, json!({"filter": {"filter": 1, "b": "k=y&key=z"}, "deep": {"page": 2}, "page": 3})).unwrap();
    assert_eq!(sent.query, "action=run&filter=1&b=k%3Dy%26key%3Dz&deep%5Bpage%5D=2&page=3");
}

#[test]
fn the_keys_of_a_form_cannot_name_its_other_fields() {
    let schema = json!({"type": "object", "properties": {"amount": {"type": "integer"}, "extra": {"type": "object"}}});
    let encoding = json!({"extra": {"style": "form", "explode": true}});
    let content = json!({"application/x-www-form-urlencoded": {"schema": schema, "encoding": encoding}});
    let tool = tool("post", "/a", json!({"requestBody": {"content": content}}));
    assert_eq!(body(&request(&tool, json!({"extra": {"a": 1}})).unwrap()), "a=1");
    let error = request(&tool, json!({"amount": 1, "extra": {"amount": 1000}})).unwrap_err();
    assert_eq!(error, "the argument `extra` must not have the key `amount`, which is another field");
}

#[test]
fn cookies_are_always_encoded() {
    let cookie = json!([{"name": "c", "in": "cookie", "allowReserved": true, "schema": {"type": "string"}}]);
    let tool = tool("get", "/a", json!({ "parameters": cookie }));
    assert_eq!(header(&request(&tool, json!({"c": "x; sid=1"})).unwrap(), "cookie"), Some("c=x%3B%20sid%3D1"));
    let api = Api::from_value(
        &json!({"openapi": "3.0.0", "paths": {"/a": {"get": {"parameters": cookie}}}}),
        Source { headers: &["Cookie".to_owned()], ..SOURCE },
    );
    assert_eq!(input(&api.unwrap().tools[0]).get("properties"), None, "the config has the whole header");
}
