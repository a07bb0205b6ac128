//! Tickets that passed through this daemon, with the moment and the facts they were decided on.
//!
//! A ticket's life is measured from here on the monotonic clock, so that neither the server's clock nor a change of ours
//! can lengthen it. It is gone with the process: a ticket that this process did not see is refused. The ticket itself is kept
//! too, under its handle, until it is used or has expired: a command line names the handle.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use portcullis_proto::ticket;
use portcullis_proto::v1::{SignedTicket, TicketClaims};
use prost::Message as _;
use uuid::Uuid;

/// Most tickets that are remembered; the oldest go first, and are refused then.
const MAX_TICKETS: usize = 16_384;

/// Most bytes of tickets that are kept for their handles; the oldest go first.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// How often expired tickets are looked for.
const SWEEP: Duration = Duration::from_secs(5);

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
    kept: HashMap<String, Kept>,
    kept_order: VecDeque<String>,
    bytes: usize,
    swept: Option<Instant>,
}

#[derive(Clone, Debug)]
enum Kept {
    /// The ticket, and when it has expired.
    Here(SignedTicket, Option<Instant>),
    Gone(Gone),
}

/// Why a handle stands for no ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// This process has not seen it, or no longer knows it.
    Unknown,
    /// It was used.
    Used,
    /// Its life is over.
    Expired,
}

impl State {
    fn forget(&mut self, handle: &str) {
        if let Some(Kept::Here(ticket, _)) = self.kept.remove(handle) {
            self.bytes = self.bytes.saturating_sub(size(&ticket));
        }
    }

    /// Lets go of tickets that have expired. Not at every call, as it looks at all.
    fn sweep(&mut self) {
        let now = Instant::now();
        if self.swept.is_some_and(|last| now.duration_since(last) < SWEEP) {
            return;
        }
        self.swept = Some(now);
        for kept in self.kept.values_mut() {
            if let Kept::Here(ticket, until) = kept
                && until.is_some_and(|until| until <= now)
            {
                self.bytes = self.bytes.saturating_sub(size(ticket));
                *kept = Kept::Gone(Gone::Expired);
            }
        }
    }
}

/// The end of a ticket's life, if it says one.
fn end(signed: &SignedTicket, seen: &Seen) -> Option<Instant> {
    let claims = TicketClaims::decode(signed.claims.as_slice()).ok()?;
    seen.at.checked_add(Duration::try_from(claims.valid_for?).ok()?)
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
        state.sweep();
        let until = end(signed, &seen);
        if state.tickets.insert(id, seen).is_none() {
            state.order.push_back(id);
        }
        let handle = ticket::handle(signed);
        // One that was seen before stays as it is: used is used.
        if !state.kept.contains_key(&handle) {
            state.kept.insert(handle.clone(), Kept::Here(signed.clone(), until));
            state.bytes += size(signed);
            state.kept_order.push_back(handle);
        }
        while (state.bytes > MAX_BYTES || state.kept_order.len() > MAX_TICKETS)
            && let Some(oldest) = state.kept_order.pop_front()
        {
            state.forget(&oldest);
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
    ///
    /// # Errors
    /// Why there is none.
    pub fn of_handle(&self, handle: &str) -> Result<SignedTicket, Gone> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.sweep();
        match state.kept.get(handle) {
            Some(Kept::Here(ticket, _)) => Ok(ticket.clone()),
            Some(Kept::Gone(why)) => Err(*why),
            None => Err(Gone::Unknown),
        }
    }

    /// Lets go of a ticket that was used.
    pub fn used(&self, signed: &SignedTicket) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { kept, bytes, .. } = &mut *state;
        if let Some(kept) = kept.get_mut(&ticket::handle(signed))
            && let Kept::Here(ticket, _) = kept
        {
            *bytes = bytes.saturating_sub(size(ticket));
            *kept = Kept::Gone(Gone::Used);
        }
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
        assert_eq!(tickets.of_handle(&ticket::handle(&one)), Ok(one));
        assert_eq!(tickets.of_handle(&ticket::handle(&two)), Err(Gone::Unknown));
        assert_eq!(tickets.of_handle(""), Err(Gone::Unknown));
    }

    #[test]
    fn a_ticket_that_was_used_or_has_expired_is_let_go() {
        let tickets = SeenTickets::default();
        let one = signed(b"one");
        tickets.remember(Uuid::now_v7(), seen(), &one);
        tickets.used(&one);
        assert_eq!(tickets.of_handle(&ticket::handle(&one)), Err(Gone::Used));
        tickets.remember(Uuid::now_v7(), seen(), &one);
        assert_eq!(tickets.of_handle(&ticket::handle(&one)), Err(Gone::Used));
        let claims = TicketClaims {
            valid_for: Some(prost_types::Duration::default()),
            ..TicketClaims::default()
        };
        let expired = signed(&claims.encode_to_vec());
        tickets.remember(Uuid::now_v7(), seen(), &expired);
        tickets.0.lock().unwrap().swept = None;
        assert_eq!(tickets.of_handle(&ticket::handle(&expired)), Err(Gone::Expired));
        assert_eq!(tickets.0.lock().unwrap().bytes, 0);
    }

    #[test]
    fn tickets_for_handles_take_no_more_than_their_room() {
        let tickets = SeenTickets::default();
        let large = |number: u8| signed(&vec![number; MAX_BYTES / 4]);
        for number in 0..6 {
            tickets.remember(Uuid::now_v7(), seen(), &large(number));
        }
        assert_eq!(tickets.of_handle(&ticket::handle(&large(0))), Err(Gone::Unknown));
        assert!(tickets.of_handle(&ticket::handle(&large(5))).is_ok());
        assert!(tickets.0.lock().unwrap().bytes <= MAX_BYTES);
    }
}
