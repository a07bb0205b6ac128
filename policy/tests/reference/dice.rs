//! Numbers that look random and are the same everywhere.

use portcullis_policy::Mode;

/// A small generator of numbers (xorshift): the same seed gives the same cases everywhere.
#[derive(Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll()).unwrap() % bound
    }

    /// True once in `n` times.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    pub(crate) fn mode(&mut self) -> Mode {
        Mode::ALL[self.below(Mode::ALL.len())]
    }
}
