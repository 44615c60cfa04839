//! A Redis of the test's own, on a free port, that forgets everything with its end.

use std::process::{Child, Command, Stdio};

use super::real_servers::{free_port, missing};
use super::stderr_log::StderrLog;
use super::temp_dir::TempDir;

pub struct Redis {
    directory: TempDir,
    port: u16,
    password: Option<&'static str>,
    child: Option<Child>,
}

impl Redis {
    /// None where there is no `redis-server`, which is said aloud.
    pub async fn start() -> Option<Self> {
        Self::start_with(None).await
    }

    pub async fn start_with(password: Option<&'static str>) -> Option<Self> {
        let works = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        if !works.is_ok_and(|status| status.success()) {
            return missing("there is no `redis-server`");
        }
        let mut redis = Redis { directory: TempDir::new(), port: free_port(), password, child: None };
        redis.again().await;
        Some(redis)
    }

    pub fn url(&self) -> String {
        let password = self.password.map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{password}127.0.0.1:{}/0", self.port)
    }

    /// What errors call it.
    pub fn name(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Starts it after its end, at the same address and with nothing in it.
    pub async fn again(&mut self) {
        let mut command = Command::new("redis-server");
        command.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.arg("--dir").arg(self.directory.path());
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
