//! What the proxy and the nursery say to each other: short frames, and the descriptor of a worker's pipe.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// What the nursery is to do. The proxy numbers the workers.
#[derive(Debug)]
pub(super) enum Order {
    /// A worker that talks through this.
    Start(u32, OwnedFd),
    /// Ends a worker that has not ended, and tells how it did.
    End(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Started(u32),
    /// With the number of the system's error.
    NotStarted(u32, i32),
    /// With what the system says of the end.
    Ended(u32, i32),
}

impl Order {
    /// Never waits: where there is no room for it, that is an error.
    pub(super) fn send(&self, line: &UnixStream) -> io::Result<()> {
        let (kind, number) = match self {
            Order::Start(number, _) => (b'+', number),
            Order::End(number) => (b'-', number),
        };
        let mut bytes = [kind; 5];
        bytes[1..].copy_from_slice(&number.to_be_bytes());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        let pipe = match self {
            Order::Start(_, pipe) => Some([pipe.as_fd()]),
            Order::End(_) => None,
        };
        if let Some(pipe) = &pipe {
            beside.push(SendAncillaryMessage::ScmRights(pipe));
        }
        sendmsg(line, &[IoSlice::new(&bytes)], &mut beside, SendFlags::DONTWAIT)?;
        Ok(())
    }

    /// The next one; none when the proxy is gone.
    pub(super) fn receive(line: &UnixStream) -> io::Result<Option<Self>> {
        let mut bytes = [0; 5];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            match recvmsg(line, &mut [IoSliceMut::new(&mut bytes)], &mut beside, RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                other => break other?.bytes,
            }
        };
        let pipe = beside.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        let [kind, number @ ..] = bytes;
        let number = u32::from_be_bytes(number);
        match (received, kind, pipe) {
            (0, _, _) => Ok(None),
            (5, b'+', Some(pipe)) => Ok(Some(Order::Start(number, pipe))),
            (5, b'-', None) => Ok(Some(Order::End(number))),
            _ => Err(io::Error::other("not an order")),
        }
    }
}

impl Report {
    pub(super) fn send(self, mut line: &UnixStream) -> io::Result<()> {
        let (kind, number, value) = match self {
            Report::Started(number) => (b'+', number, 0),
            Report::NotStarted(number, error) => (b'!', number, error),
            Report::Ended(number, status) => (b'-', number, status),
        };
        let mut bytes = [kind; 9];
        bytes[1..5].copy_from_slice(&number.to_be_bytes());
        bytes[5..].copy_from_slice(&value.to_be_bytes());
        line.write_all(&bytes)
    }

    pub(super) fn receive(mut line: &UnixStream) -> io::Result<Self> {
        let mut bytes = [0; 9];
        line.read_exact(&mut bytes)?;
        let [kind, a, b, c, d, value @ ..] = bytes;
        let (number, value) = (u32::from_be_bytes([a, b, c, d]), i32::from_be_bytes(value));
        match kind {
            b'+' => Ok(Report::Started(number)),
            b'!' => Ok(Report::NotStarted(number, value)),
            b'-' => Ok(Report::Ended(number, value)),
            _ => Err(io::Error::other("not a report")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_brings_the_pipe_of_the_worker() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut pipe, other) = UnixStream::pair().unwrap();
        Order::Start(7, other.into()).send(&ours).unwrap();
        Order::End(0x0102_0304).send(&ours).unwrap();
        let Some(Order::Start(7, received)) = Order::receive(&theirs).unwrap() else { panic!("it is to start one") };
        UnixStream::from(received).write_all(b"!").unwrap();
        let mut heard = [0];
        pipe.read_exact(&mut heard).unwrap();
        assert_eq!(heard, *b"!");
        assert!(matches!(Order::receive(&theirs), Ok(Some(Order::End(0x0102_0304)))));
        drop(ours);
        assert!(matches!(Order::receive(&theirs), Ok(None)));
    }

    #[test]
    fn a_report_comes_as_it_was_sent() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        for report in [Report::Started(1), Report::NotStarted(u32::MAX, 11), Report::Ended(3, -1)] {
            report.send(&ours).unwrap();
            assert_eq!(Report::receive(&theirs).unwrap(), report);
        }
        drop(ours);
        assert!(Report::receive(&theirs).is_err());
    }
}
