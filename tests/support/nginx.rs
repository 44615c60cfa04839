//! An nginx of the test's own in front of several proxies, with `contrib/replicas/nginx.conf`.

use std::process::Command;

use super::balancer::{Balancer, Balancing, Upstream, contrib_text, first_that_works, with_upstreams};
use super::real_servers::{free_port, missing};
use super::temp_dir::TempDir;

/// The second is where Debian puts it, which is not in everybody's `PATH`.
const PATHS: [&str; 2] = ["nginx", "/usr/sbin/nginx"];

/// One process, which needs no other user and no folder of the system.
const ALONE: &str = "daemon off;\nmaster_process off;\nerror_log stderr notice;\npid nginx.pid;\n";
const FOLDERS: &str = "http {
    access_log off;
    client_body_temp_path client_body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
";

/// None where there is no `nginx`, which is said aloud.
pub async fn start(upstreams: &[Upstream], balancing: Balancing) -> Option<Balancer> {
    let directory = TempDir::new();
    let port = free_port();
    let config = with_upstreams(&config(port, balancing), upstreams);
    let command = command(&directory, &config)?;
    Some(Balancer::start(command, port, directory).await)
}

/// Tests the config as it is in the file.
pub fn check(directory: &TempDir) -> Option<Command> {
    let mut command = command(directory, &config(free_port(), Balancing::BySession))?;
    command.arg("-t");
    Some(command)
}

fn command(directory: &TempDir, config: &str) -> Option<Command> {
    let Some(path) = first_that_works(&PATHS) else { return missing("there is no `nginx`") };
    directory.write("nginx.conf", config);
    let mut command = Command::new(path);
    command.arg("-p").arg(directory.path()).args(["-c", "nginx.conf", "-e", "stderr"]);
    Some(command)
}

fn config(port: u16, balancing: Balancing) -> String {
    let config = contrib_text("replicas/nginx.conf");
    let config = config.replacen("http {\n", FOLDERS, 1).replace("listen 8080", &format!("listen 127.0.0.1:{port}"));
    let is_kept = |line: &&str| balancing == Balancing::BySession || !line.trim_start().starts_with("hash ");
    let lines: String = config.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
    format!("{ALONE}{lines}")
}
