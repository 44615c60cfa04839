//! What the service manager is told: systemd starts a service of `Type=notify` with the socket `NOTIFY_SOCKET`, and every
//! message is one datagram to it.

use std::io;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// How long a message may wait for a service manager that does not read.
const SEND_TIMEOUT: Duration = Duration::from_millis(200);

/// The service manager that started this process.
#[derive(Debug)]
pub struct ServiceManager {
    socket: UnixDatagram,
    address: SocketAddr,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The one that the environment names. An error if it names one that cannot be reached.
    pub fn from_environment() -> io::Result<Option<Self>> {
        Self::of(&|name| std::env::var(name).ok(), std::process::id())
    }

    fn of(variable: &dyn Fn(&str) -> Option<String>, process: u32) -> io::Result<Option<Self>> {
        let Some(socket) = variable("NOTIFY_SOCKET").filter(|path| !path.is_empty()) else { return Ok(None) };
        let address = address(&socket)?;
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        Ok(Some(ServiceManager { socket, address, watchdog: watchdog(variable, process) }))
    }

    /// How long the service may be silent before it is taken for stuck, if that is watched.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// The service does its work from now on.
    pub fn ready(&self) -> io::Result<()> {
        self.send("READY=1\nSTATUS=ready")
    }

    /// The service has begun to stop.
    pub fn stopping(&self) -> io::Result<()> {
        self.send("STOPPING=1\nSTATUS=draining")
    }

    /// The service is not stuck.
    pub fn alive(&self) -> io::Result<()> {
        self.send("WATCHDOG=1")
    }

    fn send(&self, message: &str) -> io::Result<()> {
        self.socket.send_to_addr(message.as_bytes(), &self.address).map(drop)
    }
}

/// A path, or a name in the abstract namespace of Linux, which begins with `@`.
fn address(socket: &str) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.strip_prefix('@') {
        use std::os::linux::net::SocketAddrExt;
        return SocketAddr::from_abstract_name(name);
    }
    if !socket.starts_with('/') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected an absolute path"));
    }
    SocketAddr::from_pathname(socket)
}

/// The variables may be those of another process, from which this one has inherited them.
fn watchdog(variable: &dyn Fn(&str) -> Option<String>, process: u32) -> Option<Duration> {
    if variable("WATCHDOG_PID").is_some_and(|id| id != process.to_string()) {
        return None;
    }
    let microseconds: u64 = variable("WATCHDOG_USEC")?.parse().ok()?;
    (microseconds > 0).then(|| Duration::from_micros(microseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: u32 = 42;

    fn manager(variables: &[(&str, &str)]) -> io::Result<Option<ServiceManager>> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        ServiceManager::of(&find, PROCESS)
    }

    fn watchdog_of(variables: &[(&str, &str)]) -> Option<Duration> {
        let variables = [&[("NOTIFY_SOCKET", "/run/nobody")], variables].concat();
        manager(&variables).unwrap().unwrap().watchdog()
    }

    #[test]
    fn nobody_is_told_without_a_socket() {
        assert!(manager(&[]).unwrap().is_none());
        assert!(manager(&[("NOTIFY_SOCKET", ""), ("WATCHDOG_USEC", "1000")]).unwrap().is_none());
    }

    #[test]
    fn a_socket_that_is_no_address_is_an_error() {
        assert!(manager(&[("NOTIFY_SOCKET", "run/systemd/notify")]).is_err());
        assert!(manager(&[("NOTIFY_SOCKET", &format!("/{}", "long".repeat(50)))]).is_err());
    }

    #[test]
    fn the_watchdog_is_that_of_this_process() {
        let period = Some(Duration::from_secs(30));
        assert_eq!(watchdog_of(&[("WATCHDOG_USEC", "30000000")]), period);
        assert_eq!(watchdog_of(&[("WATCHDOG_USEC", "30000000"), ("WATCHDOG_PID", "42")]), period);
        assert_eq!(watchdog_of(&[("WATCHDOG_USEC", "30000000"), ("WATCHDOG_PID", "41")]), None);
        assert_eq!(watchdog_of(&[("WATCHDOG_USEC", "0")]), None);
        assert_eq!(watchdog_of(&[("WATCHDOG_USEC", "soon")]), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn every_message_is_one_datagram() {
        use std::os::linux::net::SocketAddrExt;
        let name = format!("service-manager-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let manager = manager(&[("NOTIFY_SOCKET", &format!("@{name}"))]).unwrap().unwrap();
        manager.ready().unwrap();
        manager.alive().unwrap();
        manager.stopping().unwrap();
        let mut buffer = [0; 64];
        let mut next = || {
            let length = socket.recv(&mut buffer).unwrap();
            String::from_utf8_lossy(&buffer[..length]).into_owned()
        };
        assert_eq!(next(), "READY=1\nSTATUS=ready");
        assert_eq!(next(), "WATCHDOG=1");
        assert_eq!(next(), "STOPPING=1\nSTATUS=draining");
    }
}
