//! nginx as the hop: what a proxy costs that looks at no message.

use std::path::Path;
use std::process::Stdio;

use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use super::Hop;

/// One process, connections to the server kept open, answers passed on as they come.
const CONFIG: &str = "
master_process off;
daemon off;
pid FOLDER/nginx.pid;
error_log /dev/null;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path FOLDER;
    proxy_temp_path FOLDER;
    fastcgi_temp_path FOLDER;
    uwsgi_temp_path FOLDER;
    scgi_temp_path FOLDER;
    keepalive_requests 1000000;
    upstream server { server SERVER; keepalive 64; keepalive_requests 1000000; }
    server {
        listen ADDRESS;
        location / {
            proxy_pass http://server;
            proxy_http_version 1.1;
            proxy_set_header Connection '';
            proxy_buffering off;
        }
    }
}
";

pub struct Nginx {
    process: Child,
    address: String,
}

impl Nginx {
    /// None if nginx is not installed.
    pub async fn start(server: &str, folder: &Path) -> Option<Self> {
        let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
        let file = folder.join("nginx.conf");
        let config = CONFIG
            .replace("FOLDER", &folder.display().to_string())
            .replace("SERVER", server)
            .replace("ADDRESS", &address);
        std::fs::write(&file, config).unwrap();
        let mut process = Command::new("nginx")
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .ok()?;
        while TcpStream::connect(&address).await.is_err() {
            assert!(process.try_wait().unwrap().is_none(), "nginx ended: try `nginx -t -c {}`", file.display());
            tokio::task::yield_now().await;
        }
        Some(Nginx { process, address })
    }

    pub fn into_hop(self) -> Hop {
        Hop { process: self.process, address: self.address }
    }
}
