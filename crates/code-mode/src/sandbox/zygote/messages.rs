//! The messages between proxy and zygote: frames of fixed length, and the descriptor of a worker's socket.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use crate::sandbox::jail_state::JailState;

/// What the proxy asks of the zygote. The proxy assigns the ids of workers.
#[derive(Debug)]
pub(super) enum ZygoteRequest {
    /// Fork a worker that talks to the proxy over this socket.
    Start(u32, OwnedFd),
    /// Kill a worker if it has not ended, and report its exit status.
    Kill(u32),
}

/// What the zygote reports to the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZygoteReport {
    Started(u32),
    /// With the `errno` of the failed fork.
    NotStarted(u32, i32),
    /// With the raw exit status.
    Ended(u32, i32),
    /// Which layers of the jail hold; the first report.
    Jail(JailState),
}

impl ZygoteRequest {
    /// Sends without blocking; fails if the socket's buffer is full.
    pub(super) fn send(&self, connection: &UnixStream) -> io::Result<()> {
        let (kind, id) = match self {
            ZygoteRequest::Start(id, _) => (b'+', id),
            ZygoteRequest::Kill(id) => (b'-', id),
        };
        let mut bytes = [kind; 5];
        bytes[1..].copy_from_slice(&id.to_be_bytes());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let socket = match self {
            ZygoteRequest::Start(_, socket) => Some([socket.as_fd()]),
            ZygoteRequest::Kill(_) => None,
        };
        if let Some(socket) = &socket {
            ancillary.push(SendAncillaryMessage::ScmRights(socket));
        }
        sendmsg(connection, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::DONTWAIT)?;
        Ok(())
    }

    /// Receives the next request; none when the proxy is gone.
    pub(super) fn receive(connection: &UnixStream) -> io::Result<Option<Self>> {
        let mut bytes = [0; 5];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            match recvmsg(connection, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                other => break other?.bytes,
            }
        };
        let socket = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        let [kind, id @ ..] = bytes;
        let id = u32::from_be_bytes(id);
        match (received, kind, socket) {
            (0, _, _) => Ok(None),
            (5, b'+', Some(socket)) => Ok(Some(ZygoteRequest::Start(id, socket))),
            (5, b'-', None) => Ok(Some(ZygoteRequest::Kill(id))),
            _ => Err(io::Error::other("invalid request to the zygote")),
        }
    }
}

impl ZygoteReport {
    /// Sends a report; blocks until there is space for it.
    pub(super) fn send(self, mut connection: &UnixStream) -> io::Result<()> {
        let (kind, id, value) = match self {
            ZygoteReport::Started(id) => (b'+', id, 0),
            ZygoteReport::NotStarted(id, error) => (b'!', id, error),
            ZygoteReport::Ended(id, status) => (b'-', id, status),
            ZygoteReport::Jail(state) => (b'#', 0, state.to_bits()),
        };
        let mut bytes = [kind; 9];
        bytes[1..5].copy_from_slice(&id.to_be_bytes());
        bytes[5..].copy_from_slice(&value.to_be_bytes());
        connection.write_all(&bytes)
    }

    /// Receives the next report; fails when the zygote is gone.
    pub(super) fn receive(mut connection: &UnixStream) -> io::Result<Self> {
        let mut bytes = [0; 9];
        connection.read_exact(&mut bytes)?;
        let [kind, a, b, c, d, value @ ..] = bytes;
        let (id, value) = (u32::from_be_bytes([a, b, c, d]), i32::from_be_bytes(value));
        match kind {
            b'+' => Ok(ZygoteReport::Started(id)),
            b'!' => Ok(ZygoteReport::NotStarted(id, value)),
            b'-' => Ok(ZygoteReport::Ended(id, value)),
            b'#' => Ok(ZygoteReport::Jail(JailState::from_bits(value))),
            _ => Err(io::Error::other("invalid report of the zygote")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_carries_the_socket_of_the_worker() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut socket, other) = UnixStream::pair().unwrap();
        ZygoteRequest::Start(7, other.into()).send(&ours).unwrap();
        ZygoteRequest::Kill(0x0102_0304).send(&ours).unwrap();
        let Some(ZygoteRequest::Start(7, received)) = ZygoteRequest::receive(&theirs).unwrap() else {
            panic!("the first request starts a worker")
        };
        UnixStream::from(received).write_all(b"!").unwrap();
        let mut heard = [0];
        socket.read_exact(&mut heard).unwrap();
        assert_eq!(heard, *b"!");
        assert!(matches!(ZygoteRequest::receive(&theirs), Ok(Some(ZygoteRequest::Kill(0x0102_0304)))));
        drop(ours);
        assert!(matches!(ZygoteRequest::receive(&theirs), Ok(None)));
    }

    #[test]
    fn a_report_comes_as_it_was_sent() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let jail = ZygoteReport::Jail(JailState { landlock: true, seccomp: false });
        let others = [ZygoteReport::Started(1), ZygoteReport::NotStarted(u32::MAX, 11), ZygoteReport::Ended(3, -1)];
        for report in others.into_iter().chain([jail]) {
            report.send(&ours).unwrap();
            assert_eq!(ZygoteReport::receive(&theirs).unwrap(), report);
        }
        drop(ours);
        assert!(ZygoteReport::receive(&theirs).is_err());
    }
}
