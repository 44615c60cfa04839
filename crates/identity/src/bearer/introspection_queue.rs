//! The queue for introspection requests. It is fair between client addresses, so that a client that sends thousands of
//! invented tokens does not delay others.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The maximum number of concurrent introspections.
const MAX_INTROSPECTIONS: usize = 16;

/// Grants permits for introspection requests. Tokens that were accepted before come first, and addresses take turns.
#[derive(Debug)]
pub(super) struct IntrospectionQueue(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    known: Turns,
    unknown: Turns,
}

/// Those who wait, by their addresses.
#[derive(Debug, Default)]
struct Turns {
    /// Each address with somebody who waits, once; the next one first.
    order: VecDeque<Option<IpAddr>>,
    waiting: HashMap<Option<IpAddr>, VecDeque<oneshot::Sender<Place>>>,
}

/// The right to one introspection; the next in the queue gets it when it is dropped.
#[derive(Debug)]
pub(super) struct Place(Option<Arc<Mutex<State>>>);

impl Default for IntrospectionQueue {
    fn default() -> Self {
        let state = State { free: MAX_INTROSPECTIONS, known: Turns::default(), unknown: Turns::default() };
        IntrospectionQueue(Arc::new(Mutex::new(state)))
    }
}

impl IntrospectionQueue {
    /// Waits for a place. Whoever gives up waiting loses nothing for others.
    pub(super) async fn wait(&self, peer: Option<IpAddr>, is_known: bool) -> Place {
        let turn = {
            let mut state = self.0.lock();
            if state.free > 0 {
                state.free -= 1;
                return Place(Some(Arc::clone(&self.0)));
            }
            let (sender, receiver) = oneshot::channel();
            let turns = if is_known { &mut state.known } else { &mut state.unknown };
            turns.push(peer.map(network), sender);
            receiver
        };
        match turn.await {
            Ok(place) => place,
            // Cannot happen: those who wait are dropped with the queue only, which this borrows.
            Err(_) => Place(None),
        }
    }
}

impl Turns {
    fn push(&mut self, address: Option<IpAddr>, waiting: oneshot::Sender<Place>) {
        let queue = self.waiting.entry(address).or_default();
        // Those who have given up make room, so that the queue has no more entries than requests are open.
        queue.retain(|waiting| !waiting.is_closed());
        if queue.is_empty() && !self.order.contains(&address) {
            self.order.push_back(address);
        }
        queue.push_back(waiting);
    }

    /// Takes the next one who still waits.
    fn pop(&mut self) -> Option<oneshot::Sender<Place>> {
        while let Some(address) = self.order.pop_front() {
            let Some(queue) = self.waiting.get_mut(&address) else { continue };
            let next = std::iter::from_fn(|| queue.pop_front()).find(|waiting| !waiting.is_closed());
            if queue.is_empty() {
                self.waiting.remove(&address);
            } else {
                self.order.push_back(address);
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(shared) = self.0.take() else { return };
        loop {
            let next = {
                let mut state = shared.lock();
                let next = state.known.pop().or_else(|| state.unknown.pop());
                if next.is_none() {
                    state.free += 1;
                }
                next
            };
            let Some(next) = next else { return };
            match next.send(Place(Some(Arc::clone(&shared)))) {
                Ok(()) => return,
                // Gave up just now. Forgotten, or its place would be given back a second time.
                Err(mut place) => place.0 = None,
            }
        }
    }
}

/// An address without the part that one machine can choose freely: IPv6 gives it a network of its own.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::BoxFuture;

    use super::*;

    fn address(number: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, number]))
    }

    /// The numbers of those who get a place, in the order in which they get it.
    fn order(mut places: Vec<Place>, waiting: Vec<(usize, BoxFuture<'_, Place>)>) -> Vec<usize> {
        let mut waiting = waiting;
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(places.pop());
            let before = waiting.len();
            waiting.retain_mut(|(number, turn)| match turn.now_or_never() {
                Some(place) => {
                    order.push(*number);
                    places.push(place);
                    false
                }
                None => true,
            });
            assert_eq!(waiting.len(), before - 1, "one place is for one");
        }
        order
    }

    fn full(queue: &IntrospectionQueue) -> Vec<Place> {
        (0..MAX_INTROSPECTIONS).map(|_| queue.wait(address(1), false).now_or_never().unwrap()).collect()
    }

    fn wait<'a>(queue: &'a IntrospectionQueue, who: &[(u8, bool)]) -> Vec<(usize, BoxFuture<'a, Place>)> {
        let turn = |&(number, is_known): &(u8, bool)| {
            let mut turn = queue.wait(address(number), is_known).boxed();
            assert!((&mut turn).now_or_never().is_none());
            turn
        };
        who.iter().map(turn).enumerate().collect()
    }

    #[test]
    fn addresses_take_turns_and_known_tokens_come_first() {
        let queue = IntrospectionQueue::default();
        let places = full(&queue);
        let waiting =
            wait(&queue, &[(1, false), (1, false), (1, false), (2, false), (3, false), (2, false), (1, true)]);
        assert_eq!(order(places, waiting), [6, 0, 3, 4, 1, 5, 2]);
        assert_eq!(queue.0.lock().free, MAX_INTROSPECTIONS);
    }

    #[test]
    fn who_gives_up_takes_no_place() {
        let queue = IntrospectionQueue::default();
        let places = full(&queue);
        let mut waiting = wait(&queue, &[(1, false), (2, false), (2, false), (3, false)]);
        drop(waiting.remove(1));
        drop(waiting.remove(0));
        assert_eq!(order(places, waiting), [2, 3]);
        for _ in 0..1000 {
            drop(full(&queue));
        }
        let state = queue.0.lock();
        assert_eq!((state.free, state.unknown.order.len(), state.unknown.waiting.len()), (MAX_INTROSPECTIONS, 0, 0));
    }
}
