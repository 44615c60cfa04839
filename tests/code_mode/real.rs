//! A script over real servers of other people, run by clients of each era; and their types, read by the compiler.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::Proxy;
use crate::support::real_servers;
use crate::support::rmcp_client::{RmcpClient, legacy, modern};
use crate::support::temp_dir::TempDir;

/// Three real servers, or nothing where they cannot be installed.
fn config(directory: &TempDir) -> Option<Config> {
    let files = directory.directory("files");
    directory.write("files/note.txt", "written by the test");
    Some(
        Config::new()
            .server("everything", &real_servers::everything()?)
            .server("filesystem", &real_servers::filesystem(&files)?)
            .server("time", &real_servers::time()?),
    )
}

const SCRIPT: &str = r#"
def of_files():
    return read_text_file(path = data["note"])

rows = parallel([
    lambda: ("echo", echo(message = "hello")),
    lambda: ("note", of_files()),
    lambda: ("time", get_current_time(timezone = "UTC")),
])
return [{"source": name, "kind": type(value), "text": str(value)} for name, value in rows]
"#;

async fn table(client: &RmcpClient, note: &str) -> Value {
    let result = client.call("execute_tool_script", json!({"script": SCRIPT, "data": {"note": note}})).await;
    assert_ne!(result.is_error, Some(true), "{result:?}");
    result.structured_content.expect("it is data")["result"].clone()
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn one_script_fans_out_over_three_real_servers_and_gives_one_table_in_each_era() {
    let directory = TempDir::new();
    let Some(config) = config(&directory) else { return };
    let world = Proxy::new(&config.section("sessionInit: { preset: code-mode }"));
    // A first look waits for servers that take seconds to start; later starts then list them at once.
    let looked = world.command(["list-tools", "--all"]).output().expect("the proxy runs");
    assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
    let note = directory.path().join("files/note.txt").display().to_string();
    let mut proxy = world.http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    for lifecycle in [legacy(), modern()] {
        let client = RmcpClient::http(&proxy.url, proxy.program.stderr.clone(), lifecycle).await;
        let table = table(&client, &note).await;
        let rows = table.as_array().expect("rows");
        let sources: Vec<&str> = rows.iter().filter_map(|row| row["source"].as_str()).collect();
        assert_eq!(sources, ["echo", "note", "time"]);
        assert_eq!(rows[0]["text"], "Echo: hello");
        assert!(rows[1]["text"].as_str().expect("text").contains("written by the test"), "{table}");
        assert!(rows[2]["text"].as_str().expect("text").contains("UTC"), "{table}");
        client.finish().await;
    }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn the_types_of_real_servers_pass_the_strict_compiler() {
    let directory = TempDir::new();
    let (Some(config), Some(mut compiler)) = (config(&directory), real_servers::typescript_compiler()) else { return };
    let world = Proxy::new(&config);
    let types = Finished::run(world.command(["types", "--lang", "ts"])).await.expect(0).stdout;
    for expected in [
        "export interface ReadTextFileArguments {",
        "export declare function readTextFile(args: ReadTextFileArguments): Promise<ReadTextFileResult>;",
        "export declare function getCurrentTime(args: GetCurrentTimeArguments): Promise<",
    ] {
        assert!(types.contains(expected), "{expected}\n{types}");
    }
    let own = r#"
import { echo, readTextFile, getCurrentTime } from "./tools";

async function all(): Promise<string> {
  const note = await readTextFile({ path: "note.txt" });
  await getCurrentTime({ timezone: "UTC" });
  await echo({ message: "hello" });
  // @ts-expect-error the message is text
  await echo({ message: 1 });
  // @ts-expect-error a path is needed
  await readTextFile({});
  return note.content;
}

void all;
"#;
    directory.write("types/tools.ts", &types);
    directory.write("types/use.ts", own);
    compiler.args([
        "--strict",
        "--noEmit",
        "--target",
        "es2022",
        "--module",
        "es2022",
        "--moduleResolution",
        "bundler",
    ]);
    compiler.arg("use.ts").current_dir(directory.path().join("types"));
    let compiled = Finished::run(compiler).await;
    compiled.expect(0);
}
