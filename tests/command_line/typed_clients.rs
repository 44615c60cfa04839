//! `proxy types --client`: modules in TypeScript and Python that call the tools of three real servers.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::types::odd_world;
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::{self, fake_backend};
use crate::support::proxy::Proxy;
use crate::support::real_servers;

const TYPESCRIPT: &str = r#"
import { Client, ToolError, echo, getCurrentTime, listDirectory, sharedClient } from "./tools.js";

const [url, token, command] = JSON.parse(process.argv[2]!);
const own = new Client(url ? { url, token } : { command });
const said: string = String(await echo({ message: "hällo \u{1F600}" }, own));
const time = await getCurrentTime({ timezone: "UTC" }, own);
const [one, two] = await Promise.all([echo({ message: "1" }, own), echo({ message: "2" }, own)]);
let refused = "";
try {
  await listDirectory({ path: "/nowhere" }, own);
} catch (error) {
  if (error instanceof ToolError) refused = error.message;
}
// @ts-expect-error the message is text
const wrong = () => echo({ message: 1 });
void wrong, sharedClient;
console.log(JSON.stringify({ said, time, both: [one, two], refused }));
"#;

const PYTHON: &str = r#"
import json
import sys
from concurrent.futures import ThreadPoolExecutor

from tools import Client, ToolError, echo, get_current_time, list_directory

url, token, command = json.loads(sys.argv[1])
with (Client(url, token) if url else Client(command=command)) as own:
    said = str(echo({"message": "h\u00e4llo \U0001F600"}, client=own))
    time = get_current_time(timezone="UTC", client=own)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda text: echo({"message": text}, client=own), ["1", "2"]))
    refused = ""
    try:
        list_directory({"path": "/nowhere"}, client=own)
    except ToolError as error:
        refused = str(error)
print(json.dumps({"said": said, "time": time, "both": both, "refused": refused}))
"#;

const TOKENS: &str = "auth: {tokens: [{token: secret-token-of-a, sub: ann}]}";

/// Three real servers behind a proxy.
fn real_world() -> Option<Proxy> {
    let proxy = Proxy::with_config_text("");
    let config = Config::new()
        .server("everything", &real_servers::everything()?)
        .server("files", &real_servers::filesystem(proxy.directory.path())?)
        .server("time", &real_servers::time()?)
        .section(TOKENS);
    Some(proxy.file("proxy.yaml", &config.text()))
}

fn checked(output: &Finished) {
    let said = output.json();
    assert_eq!(said["said"], "Echo: hällo \u{1F600}");
    assert_eq!(said["both"], serde_json::json!(["Echo: 1", "Echo: 2"]));
    assert!(said["time"].to_string().contains("UTC"), "{said}");
    assert!(said["refused"].as_str().is_some_and(|text| text.contains("/nowhere")), "{said}");
}

/// Runs a program on the module over HTTP and with a proxy of its own.
async fn runs_both_ways(world: Proxy, program: impl Fn() -> Command) {
    let config = world.directory.path().join("proxy.yaml");
    let command = serde_json::json!([programs::proxy().get_program().to_str(), "serve", "--config", config]);
    let mut by_child = program();
    by_child.arg(serde_json::json!([null, null, command]).to_string());
    checked(&Finished::run(by_child).await.expect(0));
    let served = world.http().await;
    let mut by_url = program();
    by_url.arg(serde_json::json!([served.url, "secret-token-of-a", null]).to_string());
    checked(&Finished::run(by_url).await.expect(0));
    let mut stranger = program();
    stranger.arg(serde_json::json!([served.url, "another-token-of-x", null]).to_string());
    let refused = Finished::run(stranger).await;
    assert!(refused.code != 0 && refused.stderr.contains("ToolError"), "{}", refused.stderr);
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_typescript_program_calls_real_servers_through_its_typed_client() {
    let (Some(world), Some(mut compiler)) = (real_world(), real_servers::typescript_compiler()) else { return };
    let module = world.run(["types", "--client"]).await.expect(0).stdout;
    world.directory.write("client/tools.ts", &module);
    world.directory.write("client/use.ts", &format!("declare const process: {{ argv: string[] }};\n{TYPESCRIPT}"));
    world.directory.write("client/package.json", r#"{"type": "module"}"#);
    let folder = world.directory.path().join("client");
    compiler.args(["--strict", "--target", "es2022", "--module", "nodenext", "--outDir", "out", "use.ts"]);
    compiler.current_dir(&folder);
    Finished::run(compiler).await.expect(0);
    let script = folder.join("out/use.js");
    runs_both_ways(world, || with("node", &script)).await;
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_python_program_calls_real_servers_through_its_typed_client() {
    let (Some(world), Some(python)) = (real_world(), real_servers::python_with_type_checker()) else { return };
    let module = world.run(["types", "--lang", "py", "--client"]).await.expect(0).stdout;
    world.directory.write("client/tools.py", &module);
    world.directory.write("client/use.py", PYTHON);
    let folder = world.directory.path().join("client");
    strictly_typed(&python, &folder, &["tools.py", "use.py"]).await;
    let script = folder.join("use.py");
    let interpreter = python.to_str().expect("a path").to_owned();
    runs_both_ways(world, || with(&interpreter, &script)).await;
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn odd_schemas_give_modules_that_pass_the_strict_checkers() {
    let world = odd_world();
    for (arguments, file) in [
        (&["types", "--client"][..], "odd.ts"),
        (&["types", "--lang", "py", "--client"], "odd.py"),
        (&["types", "--lang", "py"], "stubs.pyi"),
    ] {
        let module = world.run(arguments.iter().copied()).await.expect(0).stdout;
        world.directory.write(&format!("odd/{file}"), &module);
    }
    let folder = world.directory.path().join("odd");
    if let Some(mut compiler) = real_servers::typescript_compiler() {
        compiler
            .args(["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "odd.ts"])
            .current_dir(&folder);
        Finished::run(compiler).await.expect(0);
    }
    if let Some(python) = real_servers::python_with_type_checker() {
        strictly_typed(&python, &folder, &["odd.py", "stubs.pyi"]).await;
        // What is checked can also be imported.
        let mut import = Command::new(&python);
        import.args(["-c", "import odd; print(odd.list_issues.__name__)"]).current_dir(&folder);
        assert_eq!(Finished::run(import).await.expect(0).stdout, "list_issues\n");
    }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn arguments_that_belong_into_headers_are_sent_there() {
    let tools = serde_json::json!([{"name": "where", "inputSchema": {"type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}]);
    let proxy = Proxy::with_config_text("");
    let path = proxy.directory.write("tools.json", &tools.to_string());
    let server = fake_backend(["--tools", path.to_str().expect("a path")]);
    let proxy = proxy.file("proxy.yaml", &Config::new().server("one", &server).text());
    for (lang, expected) in [
        ("ts", r#"args, [[["region"], "Region"]])"#),
        ("py", r#"_arguments(args, arguments), [(["region"], "Region")])"#),
    ] {
        let module = proxy.run(["types", "--lang", lang, "--client"]).await.expect(0).stdout;
        assert!(module.contains(expected), "{module}");
    }
    let star = proxy.run(["types", "--lang", "star", "--client"]).await.expect(2);
    assert!(star.stderr.contains("`--lang ts` and `--lang py`"), "{}", star.stderr);
}

fn with(program: &str, script: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(script);
    command
}

async fn strictly_typed(python: &PathBuf, folder: &Path, files: &[&str]) {
    let mut mypy = Command::new(python);
    mypy.args(["-m", "mypy", "--strict", "--python-version", "3.10"]).args(files).current_dir(folder);
    Finished::run(mypy).await.expect(0);
}
