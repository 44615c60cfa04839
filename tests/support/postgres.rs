//! A PostgreSQL of the test's own, in a folder and on a port that nobody else has.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::real_servers::{free_port, missing};
use super::stderr_log::StderrLog;
use super::temp_dir::TempDir;

pub struct Postgres {
    /// It goes away with the server.
    directory: TempDir,
    port: u16,
    child: Child,
}

pub const PASSWORD: &str = "s3cret-pw";

impl Postgres {
    /// None where there is no server to start, which is said aloud.
    pub async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    /// One that refuses connections without TLS. Its certificate is for `localhost`, and signed by nobody else.
    pub async fn start_with_tls() -> Option<Self> {
        Self::start_with(&["-c", "ssl=on", "-c", "ssl_cert_file=server.crt", "-c", "ssl_key_file=server.key"]).await
    }

    async fn start_with(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else { return missing("there is no PostgreSQL server") };
        let directory = TempDir::new();
        directory.write("password", PASSWORD);
        let user = unprivileged(&directory);
        let data = directory.path().join("data");
        let mut initdb = user.command(&programs.join("initdb"));
        initdb.args([
            "--username=ann",
            "--auth=scram-sha-256",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
            "--pwfile",
        ]);
        initdb.arg(directory.path().join("password")).arg("-D").arg(&data);
        let made = initdb.output().expect("initdb is there");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        if !settings.is_empty() {
            demand_tls(&user, &data);
        }
        let port = free_port();
        let mut server = user.command(&programs.join("postgres"));
        server.arg("-D").arg(&data).args([
            "-p",
            &port.to_string(),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "fsync=off",
        ]);
        server.args(settings);
        server.args(["-c", "unix_socket_directories="]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = server.spawn().expect("postgres is there");
        let log = StderrLog::collect(child.stderr.take().expect("stderr is piped"));
        log.line("database system is ready to accept connections").await;
        Some(Postgres { directory, port, child })
    }

    pub fn url(&self) -> String {
        format!("postgresql://ann:{PASSWORD}@127.0.0.1:{}/postgres", self.port)
    }

    /// The certificate of one that has one.
    pub fn certificate(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("data/server.crt")).expect("it was made")
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // As a fast shutdown: connections are cut, its children end with it.
        if let Some(id) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::INT);
        }
        let _ = self.child.wait();
    }
}

/// Where Debian and others put them; the newest version.
fn programs() -> Option<PathBuf> {
    let versions = glob::glob("/usr/lib/postgresql/*/bin").into_iter().flatten().flatten();
    let on_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut folders: Vec<PathBuf> = on_path.unwrap_or_default().into_iter().chain(versions).collect();
    folders.retain(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file());
    folders.pop()
}

/// The server refuses to run as root; then somebody else must own its folder.
struct User(Option<u32>);

fn unprivileged(directory: &TempDir) -> User {
    const NOBODY: u32 = 65534;
    if !rustix::process::getuid().is_root() {
        return User(None);
    }
    for path in [directory.path().to_owned(), directory.path().join("password")] {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
    }
    User(Some(NOBODY))
}

fn demand_tls(user: &User, data: &std::path::Path) {
    let mut openssl = user.command(std::path::Path::new("openssl"));
    openssl.args(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=proxy-test".split(' '),
    );
    openssl.args("-addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE".split(' '));
    openssl.arg("-keyout").arg(data.join("server.key")).arg("-out").arg(data.join("server.crt"));
    let made = openssl.output().expect("openssl comes with PostgreSQL");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::write(data.join("pg_hba.conf"), "hostssl all all all scram-sha-256\n").expect("it is the test's");
}

impl User {
    fn command(&self, program: &std::path::Path) -> Command {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(program);
        if let Some(id) = self.0 {
            command.uid(id).gid(id);
        }
        command.stdin(Stdio::null()).current_dir("/").env("LC_ALL", "C");
        command
    }
}
