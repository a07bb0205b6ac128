//! When the automatic modes stop deciding by themselves: the count of a session's blocks.
//!
//! A classifier that blocks again and again is wrong about the work, or right about the agent; either way a person should
//! look. This is the state machine alone: who keeps it per session, and tells it what happened, is the server's business.

/// What a classifier blocked in one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCount {
    in_a_row: u32,
    total: u32,
}

/// What happened to a call that the classifier was to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEvent {
    /// The classifier blocked it.
    Blocked,
    /// The classifier allowed it.
    Allowed,
    /// A person answered, be it yes or no.
    PersonAnswered,
}

/// Why the automatic mode pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Blocks since the last allow or answer of a person.
    pub in_a_row: u32,
    /// Blocks of the session.
    pub total: u32,
}

impl BlockCount {
    /// So many blocks in a row pause the mode.
    pub const IN_A_ROW: u32 = 3;
    /// So many blocks of a session pause the mode, for the rest of the session.
    pub const TOTAL: u32 = 20;

    /// The count after an event.
    #[must_use]
    pub fn after(self, event: BlockEvent) -> Self {
        match event {
            BlockEvent::Blocked => Self {
                in_a_row: self.in_a_row.saturating_add(1),
                total: self.total.saturating_add(1),
            },
            BlockEvent::Allowed | BlockEvent::PersonAnswered => Self { in_a_row: 0, ..self },
        }
    }

    /// Whether the mode pauses, and why.
    #[must_use]
    pub fn pause(self) -> Option<Pause> {
        (self.in_a_row >= Self::IN_A_ROW || self.total >= Self::TOTAL).then_some(Pause {
            in_a_row: self.in_a_row,
            total: self.total,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        BlockEvent::{Allowed as A, Blocked as B, PersonAnswered as P},
        *,
    };

    fn count(events: &[BlockEvent]) -> BlockCount {
        events
            .iter()
            .fold(BlockCount::default(), |count, event| count.after(*event))
    }

    #[test]
    fn three_blocks_in_a_row_or_twenty_in_all_pause() {
        for (events, paused) in [
            (&[][..], false),
            (&[B, B], false),
            (&[B, B, B], true),
            (&[B, B, A, B, B], false),
            (&[B, B, P, B, B], false),
            (&[B, B, P, B, B, B], true),
            (&[B, B, B, P], false),
            (&[B, B, B, A], false),
            (&[A, A, A, A], false),
        ] {
            assert_eq!(count(events).pause().is_some(), paused, "{events:?}");
        }
        let pairs = |n| [B, A].repeat(n);
        assert_eq!(count(&pairs(19)).pause(), None);
        assert_eq!(count(&pairs(20)).pause(), Some(Pause { in_a_row: 0, total: 20 }));
        // Twenty in all are for good.
        let mut long = pairs(20);
        long.extend([P, A, P]);
        assert!(count(&long).pause().is_some());
    }

    proptest! {
        #[test]
        fn the_count_is_what_a_look_at_the_whole_list_says(
            events in prop::collection::vec(prop::sample::select(vec![A, B, P]), 0..60),
        ) {
            let total = events.iter().filter(|event| **event == B).count();
            let in_a_row = events.iter().rev().take_while(|event| **event == B).count();
            prop_assert_eq!(count(&events).pause().is_some(), total >= 20 || in_a_row >= 3);
        }

        #[test]
        fn one_more_block_never_ends_a_pause(
            events in prop::collection::vec(prop::sample::select(vec![A, B, P]), 0..60),
        ) {
            let before = count(&events);
            prop_assert!(before.pause().is_none() || before.after(B).pause().is_some());
        }
    }
}
