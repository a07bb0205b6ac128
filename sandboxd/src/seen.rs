//! Tickets that passed through this daemon, with the moment and the facts they were decided on.
//!
//! A ticket's life is measured from here on the monotonic clock, so that neither the server's clock nor a change of ours
//! can lengthen it. It is gone with the process: a ticket that this process did not see is refused. The ticket itself is kept
//! too, under its handle, until it is taken: a command line names the handle.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use portcullis_proto::ticket;
use portcullis_proto::v1::SignedTicket;
use uuid::Uuid;

/// Most tickets that are remembered; the oldest go first, and are refused then.
const MAX_TICKETS: usize = 16_384;

/// Most bytes of tickets that are kept for their handles; the oldest go first.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// What is known about a ticket.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When its answer arrived.
    pub at: Instant,
    /// Where the working directory led when the call was decided.
    pub cwd: PathBuf,
    /// Where the workspace's folders led.
    pub roots: Vec<PathBuf>,
}

#[derive(Debug, Default)]
struct State {
    tickets: HashMap<Uuid, Seen>,
    order: VecDeque<Uuid>,
    kept: HashMap<String, SignedTicket>,
    kept_order: VecDeque<String>,
    bytes: usize,
}

impl State {
    fn take(&mut self, handle: &str) -> Option<SignedTicket> {
        let ticket = self.kept.remove(handle)?;
        self.bytes = self.bytes.saturating_sub(size(&ticket));
        Some(ticket)
    }
}

fn size(ticket: &SignedTicket) -> usize {
    ticket.claims.len() + ticket.signature.len()
}

/// The tickets.
#[derive(Debug, Default)]
pub struct SeenTickets(Mutex<State>);

impl SeenTickets {
    /// Remembers one.
    pub fn remember(&self, id: Uuid, seen: Seen, signed: &SignedTicket) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.order.len() >= MAX_TICKETS
            && let Some(oldest) = state.order.pop_front()
        {
            state.tickets.remove(&oldest);
        }
        if state.tickets.insert(id, seen).is_none() {
            state.order.push_back(id);
        }
        let handle = ticket::handle(signed);
        if state.kept.insert(handle.clone(), signed.clone()).is_none() {
            state.bytes += size(signed);
            state.kept_order.push_back(handle);
        }
        while (state.bytes > MAX_BYTES || state.kept_order.len() > MAX_TICKETS)
            && let Some(oldest) = state.kept_order.pop_front()
        {
            state.take(&oldest);
        }
    }

    /// What is known about one.
    #[must_use]
    pub fn get(&self, id: Uuid) -> Option<Seen> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .tickets
            .get(&id)
            .cloned()
    }

    /// The ticket that a handle stands for.
    #[must_use]
    pub fn of_handle(&self, handle: &str) -> Option<SignedTicket> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.kept.get(handle).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        Seen {
            at: Instant::now(),
            cwd: PathBuf::from("/w"),
            roots: Vec::new(),
        }
    }

    fn signed(claims: &[u8]) -> SignedTicket {
        SignedTicket {
            claims: claims.to_vec(),
            signature: vec![1; 64],
        }
    }

    #[test]
    fn a_handle_stands_for_its_ticket_and_no_other() {
        let tickets = SeenTickets::default();
        let (one, two) = (signed(b"one"), signed(b"two"));
        tickets.remember(Uuid::now_v7(), seen(), &one);
        assert_eq!(tickets.of_handle(&ticket::handle(&one)), Some(one));
        assert_eq!(tickets.of_handle(&ticket::handle(&two)), None);
        assert_eq!(tickets.of_handle(""), None);
    }

    #[test]
    fn tickets_for_handles_take_no_more_than_their_room() {
        let tickets = SeenTickets::default();
        let large = |number: u8| signed(&vec![number; MAX_BYTES / 4]);
        for number in 0..6 {
            tickets.remember(Uuid::now_v7(), seen(), &large(number));
        }
        assert_eq!(tickets.of_handle(&ticket::handle(&large(0))), None);
        assert!(tickets.of_handle(&ticket::handle(&large(5))).is_some());
        assert!(tickets.0.lock().unwrap().bytes <= MAX_BYTES);
    }
}
