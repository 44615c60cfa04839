//! A message that waits to be written.

use bytes::Bytes;

use super::outlet::Reservation;

/// An encoded message on its way to a client.
#[derive(Debug)]
pub struct OutboundMessage {
    bytes: Bytes,
    reservation: Option<Reservation>,
}

impl OutboundMessage {
    pub fn new(bytes: impl Into<Bytes>, reservation: Reservation) -> Self {
        OutboundMessage { bytes: bytes.into(), reservation: Some(reservation) }
    }

    /// A message too short to be counted.
    pub fn uncounted(bytes: impl Into<Bytes>) -> Self {
        OutboundMessage { bytes: bytes.into(), reservation: None }
    }

    /// The same message in another encoding.
    pub fn map(self, encode: impl FnOnce(&[u8]) -> Vec<u8>) -> Self {
        OutboundMessage { bytes: encode(&self.bytes).into(), ..self }
    }

    /// The bytes, which hold the reservation until the last part of them is dropped.
    pub fn into_bytes(self) -> Bytes {
        if self.reservation.is_none() { self.bytes } else { Bytes::from_owner(self) }
    }
}

impl AsRef<[u8]> for OutboundMessage {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
