//! A Redis of the test's own, on a free port, that forgets everything with its end.

use std::process::{Child, Command, Stdio};

use super::real_servers::{free_port, missing};
use super::stderr_log::StderrLog;
use super::temp_dir::TempDir;

pub struct Redis {
    directory: TempDir,
    port: u16,
    password: Option<&'static str>,
    encrypted: bool,
    child: Option<Child>,
}

impl Redis {
    /// None where there is no `redis-server`, which is said aloud.
    pub async fn start() -> Option<Self> {
        Self::start_with(None).await
    }

    /// One that speaks TLS only, with a certificate of [`Redis::authority`].
    pub async fn start_encrypted() -> Option<Self> {
        let mut redis = Self::prepared(None)?;
        redis.encrypted = true;
        if !redis.certified() {
            return missing("there is no `openssl`");
        }
        redis.again().await;
        Some(redis)
    }

    pub async fn start_with(password: Option<&'static str>) -> Option<Self> {
        let mut redis = Self::prepared(password)?;
        redis.again().await;
        Some(redis)
    }

    fn prepared(password: Option<&'static str>) -> Option<Self> {
        let works = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        if !works.is_ok_and(|status| status.success()) {
            return missing("there is no `redis-server`");
        }
        Some(Redis { directory: TempDir::new(), port: free_port(), password, encrypted: false, child: None })
    }

    /// Makes an authority of its own, and a certificate by it.
    fn certified(&self) -> bool {
        self.directory.write("names", "subjectAltName=IP:127.0.0.1");
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        [
            format!("req -x509 {key} -keyout authority.key -out authority.pem -subj /CN=authority -days 2"),
            format!("req {key} -keyout server.key -out server.csr -subj /CN=redis"),
            "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -out server.pem -days 2 \
             -extfile names"
                .to_owned(),
        ]
        .iter()
        .all(|arguments| {
            let mut command = Command::new("openssl");
            command.args(arguments.split_whitespace()).current_dir(self.directory.path());
            command.output().is_ok_and(|done| done.status.success())
        })
    }

    /// The file of the authority that certified it.
    pub fn authority(&self) -> String {
        self.directory.path().join("authority.pem").display().to_string()
    }

    pub fn url(&self) -> String {
        let password = self.password.map(|password| format!(":{password}@")).unwrap_or_default();
        format!("{}://{password}127.0.0.1:{}/0", self.scheme(), self.port)
    }

    fn scheme(&self) -> &'static str {
        if self.encrypted { "rediss" } else { "redis" }
    }

    /// What errors call it.
    pub fn name(&self) -> String {
        format!("{}://127.0.0.1:{}/0", self.scheme(), self.port)
    }

    /// Starts it after its end, at the same address and with nothing in it.
    pub async fn again(&mut self) {
        let mut command = Command::new("redis-server");
        let port = self.port.to_string();
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.arg("--dir").arg(self.directory.path()).current_dir(self.directory.path());
        if self.encrypted {
            command.args(["--port", "0", "--tls-port", &port, "--tls-auth-clients", "no"]);
            command.args(["--tls-cert-file", "server.pem", "--tls-key-file", "server.key"]);
            command.args(["--tls-ca-cert-file", "authority.pem"]);
        } else {
            command.args(["--port", &port]);
        }
        if let Some(password) = self.password {
            command.args(["--requirepass", password]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it was there just now");
        let log = StderrLog::collect(child.stdout.take().expect("stdout is piped"));
        self.child = Some(child);
        log.line("Ready to accept connections").await;
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops it in the middle of whatever it does: connections stay open and nothing comes.
    pub fn freeze(&self) {
        let id = self.child.as_ref().and_then(|child| i32::try_from(child.id()).ok());
        let id = id.and_then(rustix::process::Pid::from_raw).expect("it runs");
        rustix::process::kill_process(id, rustix::process::Signal::STOP).expect("it is ours");
    }

    /// Runs a command of Redis beside all others and gives its answer as text.
    pub async fn ask(&self, arguments: &[&str]) -> String {
        let client = redis::Client::open(self.url()).expect("the address is right");
        let mut connection = client.get_multiplexed_async_connection().await.expect("it runs");
        let mut command = redis::cmd(arguments[0]);
        command.arg(&arguments[1..]);
        let value: redis::Value = command.query_async(&mut connection).await.expect("it is a command");
        format!("{value:?}")
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
