//! Tickets that passed through this daemon, with the moment and the facts they were decided on.
//!
//! A ticket's life is measured from here on the monotonic clock, so that neither the server's clock nor a change of ours
//! can lengthen it. It is gone with the process: a ticket that this process did not see is refused.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use uuid::Uuid;

/// Most tickets that are remembered; the oldest go first, and are refused then.
const MAX_TICKETS: usize = 16_384;

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
}

/// The tickets.
#[derive(Debug, Default)]
pub struct SeenTickets(Mutex<State>);

impl SeenTickets {
    /// Remembers one.
    pub fn remember(&self, id: Uuid, seen: Seen) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.order.len() >= MAX_TICKETS
            && let Some(oldest) = state.order.pop_front()
        {
            state.tickets.remove(&oldest);
        }
        if state.tickets.insert(id, seen).is_none() {
            state.order.push_back(id);
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
}
