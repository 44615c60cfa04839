//! What servers get of the environment.

use serde_json::json;

use super::empty;
use crate::support::config::Config;
use crate::support::examples;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn a_server_gets_the_variables_that_the_config_names_and_those_of_the_network() {
    let config = Config::new()
        .server_with("fake", &fake_backend(["--only", "env"]), json!({"inheritEnv": ["MINE_*"]}))
        .section("inheritEnv: [OURS]");
    let proxy = Proxy::new(&config)
        .environment("MINE_TOO", "1")
        .environment("OURS", "2")
        .environment("THEIRS", "3")
        .environment("https_proxy", "http://proxy:3128")
        .environment("ALL_PROXY", "http://me:secret@proxy:3128");
    let env = proxy.run(["call", "env"]).await.expect(0).stdout;
    for passed in ["MINE_TOO", "OURS", "https_proxy"] {
        assert!(env.contains(passed), "{passed}: {env}");
    }
    assert!(!env.contains("THEIRS") && !env.contains("ALL_PROXY"), "{env}");
}

#[tokio::test]
async fn a_server_of_the_command_line_gets_variables_of_the_command_line() {
    let server = format!("fake={} --only env", examples::path("fake-backend").display());
    let proxy = empty();
    let env = proxy.run(["call", "env", "--server", &server, "--env", "KEY=a=b"]).await.expect(0).stdout;
    assert!(env.contains("KEY") && env.contains("a=b"), "{env}");
    let wrong = proxy.run(["call", "env", "--server", &server, "--env", "s3cret"]).await.expect(2).stderr;
    assert!(wrong.contains("`--env`: expected NAME=VALUE") && !wrong.contains("s3cret"), "{wrong}");
    proxy.run(["call", "env", "--env", "KEY=1"]).await.expect(2);
}
