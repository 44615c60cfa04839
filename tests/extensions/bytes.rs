//! Bytes: files, output and responses that are not text, and results made of them.

use serde_json::{Value, json};

use super::requests::server;
use super::{one_tool, serving, started, world};
use crate::support::config::Config;
use crate::support::proxy::Proxy;

/// Bytes that are not UTF-8, and their base64.
const BYTES: &[u8] = b"\x89PNG\xff\x00";
const BASE64: &str = "iVBOR/8A";

const PICTURES: &str = r#"
logo = data.load_base64("logo.png")

def one(params):
    return image(data.load_base64("logo.png"), "image/png")

def several(params):
    return ["a caption", image(logo, "image/png"), audio("UklGRg==\n", "audio/wav"), link("pictures://logo", "logo", size = 6, mime_type = "image/png")]

def whole(params):
    return {"content": [blob("pictures://logo", logo, "image/png")], "isError": True}

def wrong(params):
    return image(params["data"], params.get("type", "image/png"))

def describe_extension():
    tools = [Tool(name = name, description = "", handler = handler) for name, handler in
             {"one": one, "several": several, "whole": whole, "wrong": wrong}.items()]
    return Extension(
        name = "pictures", version = "1", tools = tools,
        resources = [
            Resource(uri = "pictures://logo", name = "logo", handler = one),
            Resource(uri = "pictures://file", name = "file", handler = lambda params: blob(params["uri"], logo)),
        ],
        prompts = [Prompt(name = "describe", handler = one)],
    )
"#;

#[tokio::test]
async fn images_sound_files_and_links_are_content() {
    let world = world(&[("pictures.star", PICTURES)]);
    std::fs::write(world.directory.path().join("tools/logo.png"), BYTES).expect("it can be written");
    let mut proxy = started(world).await;
    let image = json!({"type": "image", "data": BASE64, "mimeType": "image/png"});
    let result = proxy.client.call("one", "{}").await.value()["result"].clone();
    assert_eq!(result, json!({"content": [image]}));
    let result = proxy.client.call("several", "{}").await.value()["result"].clone();
    let sound = json!({"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"});
    let link =
        json!({"type": "resource_link", "uri": "pictures://logo", "name": "logo", "mimeType": "image/png", "size": 6});
    assert_eq!(result, json!({"content": [{"type": "text", "text": "a caption"}, image, sound, link]}));
    let result = proxy.client.call("whole", "{}").await.value()["result"].clone();
    let file = json!({"uri": "pictures://logo", "mimeType": "image/png", "blob": BASE64});
    assert_eq!(result, json!({"content": [{"type": "resource", "resource": file}], "isError": true}));
    let read = proxy.client.request("resources/read", r#"{"uri":"pictures://logo"}"#).await.value();
    assert_eq!(read["result"]["contents"], json!([file]));
    let read = proxy.client.request("resources/read", r#"{"uri":"pictures://file"}"#).await.value();
    assert_eq!(read["result"]["contents"], json!([{"uri": "pictures://file", "blob": BASE64}]));
    let prompt = proxy.client.request("prompts/get", r#"{"name":"describe"}"#).await.value();
    assert_eq!(prompt["result"]["messages"], json!([{"role": "user", "content": image}]));
    for (arguments, expected) in [
        (json!({"data": "iVBOR/8"}), "image() takes base64"),
        (json!({"data": "iVBOR_8A"}), "image() takes base64"),
        (json!({"data": "data:image/png;base64,iVBOR/8A"}), "image() takes base64"),
        (json!({"data": BASE64, "type": "png"}), "`png` is not a MIME type for image()"),
    ] {
        let text = proxy.fault("wrong", arguments).await;
        assert!(text.contains(expected) && text.contains("(pictures.star:14)"), "{text}");
    }
}

#[tokio::test]
async fn session_scripts_make_content_too() {
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }");
    let script = "publish(metadata(\"logo\", \"\", {}, {}), lambda args: [link(\"https://example.com/\", \"home\"), image(\"iVBOR/8A\", \"image/png\")])\n";
    let mut proxy = started(Proxy::new(&config).file("policy.star", script)).await;
    let content = proxy.client.call("logo", "{}").await.value()["result"]["content"].clone();
    assert_eq!((&content[0]["type"], &content[1]["data"]), (&json!("resource_link"), &json!(BASE64)));
}

#[tokio::test]
async fn output_of_a_command_as_bytes() {
    let body = "return exec.run('printf', ['\\\\211PNG\\\\377\\\\000'], binary = True)";
    let mut proxy = serving(&[("one.star", &one_tool(body, "allowed_exec = ['printf'],"))]).await;
    let result = proxy.data("run", json!({})).await;
    assert_eq!((&result["stdout_base64"], result.get("stdout")), (&json!(BASE64), None), "{result}");
    assert_eq!((&result["stderr"], &result["success"]), (&json!(""), &json!(true)));
}

#[tokio::test]
async fn a_response_that_is_not_text_has_its_bytes() {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\n\x89PNG\xff\x00";
    const TEXT: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\n\xe2\x82\xac";
    let (bytes, text) = (server(ANSWER, false).await, server(TEXT, false).await);
    let body = "return http.get('http://127.0.0.1:%s/' % params['port'])";
    let mut proxy = serving(&[("one.star", &one_tool(body, "allowed_hosts = ['127.0.0.1'],"))]).await;
    assert_eq!(proxy.data("run", json!({"port": bytes})).await["body_base64"], BASE64);
    let response = proxy.data("run", json!({"port": text})).await;
    assert_eq!((&response["body"], response.get("body_base64")), (&json!("€"), None::<&Value>));
}

#[tokio::test]
async fn tests_answer_with_bytes() {
    let extension = "def run(params):\n    out = exec.run('cat', ['x'], binary = True)['stdout_base64']\n    return [out, http.get('https://example.com/')['body_base64']]\n\ndef describe_extension():\n    return Extension(name = 'one', version = '1', allowed_exec = ['cat'], tools = [Tool(name = 'run', description = '', handler = run)])\n";
    let test = "load('one', 'run')\n\ndef test_bytes():\n    testing.exec({'cat x': [{'stdout_base64': 'iVBOR/8A'}, 'hi']})\n    testing.http({'*': {'body_base64': 'iVBOR/8A'}})\n    testing.eq(run({}), ['iVBOR/8A', 'iVBOR/8A'])\n    testing.eq(run({})[0], 'aGk=')\n    testing.raises(lambda: testing.http({'*': {'body_base64': 'no'}}), 'is not base64')\n";
    let proxy = world(&[("one.star", extension), ("one_test.star", test)]);
    proxy.run(["test", "tools"]).await.expect(0);
}
