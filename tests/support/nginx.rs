//! An nginx of the test's own in front of several proxies.

use std::process::{Command, Stdio};

use super::program::Program;
use super::real_servers::{free_port, missing};
use super::stderr_log::StderrLog;
use super::temp_dir::TempDir;

/// Where Debian puts it, which is not in everybody's `PATH`.
const PATHS: [&str; 2] = ["nginx", "/usr/sbin/nginx"];

/// One process, which needs no other user and no folder of the system. A proxy on loopback takes no other name for itself.
const CONFIG: &str = r#"
daemon off;
master_process off;
error_log stderr notice;
pid nginx.pid;
events {}
http {
    access_log off;
    client_body_temp_path client_body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    upstream proxies { SERVERS }
    server {
        listen 127.0.0.1:PORT;
        location / {
            proxy_pass http://proxies;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host localhost;
            proxy_buffering off;
            proxy_read_timeout 1h;
        }
    }
}
"#;

/// Fields are dropped in order: the program ends before its directory goes.
pub struct Nginx {
    pub url: String,
    pub program: Program,
    _directory: TempDir,
}

impl Nginx {
    /// Passes requests to the servers at these URLs in turn. None where there is no `nginx`, which is said aloud.
    pub async fn round_robin(urls: &[&str]) -> Option<Self> {
        let works = |path: &&&str| {
            let mut command = Command::new(path);
            command.arg("-v").stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let Some(path) = PATHS.iter().find(works) else { return missing("there is no `nginx`") };
        let directory = TempDir::new();
        let port = free_port();
        directory.write("nginx.conf", &config(port, urls));
        let folder = directory.path().display().to_string();
        let mut command = Command::new(path);
        command.args(["-p", &folder, "-c", "nginx.conf", "-e", "stderr"]);
        let (program, _, _) = Program::start(command);
        // It says so when it listens.
        program.stderr.line("getrlimit(RLIMIT_NOFILE)").await;
        let (_, endpoint) = urls[0].strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
        Some(Nginx { url: format!("http://127.0.0.1:{port}/{endpoint}"), program, _directory: directory })
    }

    pub fn stderr(&self) -> &StderrLog {
        &self.program.stderr
    }
}

fn config(port: u16, urls: &[&str]) -> String {
    let hosts = urls.iter().filter_map(|url| url.strip_prefix("http://")?.split('/').next());
    let servers: String = hosts.map(|host| format!("server {host}; ")).collect();
    CONFIG.replace("SERVERS", &servers).replace("PORT", &port.to_string())
}
