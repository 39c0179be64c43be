//! A small pseudo-random generator: the same seed gives the same numbers on every machine.

/// A linear congruential generator. Good enough to choose test cases, for nothing else.
#[derive(Clone, Debug)]
pub struct TestRng(u64);

impl TestRng {
    /// A generator that starts from this seed.
    pub fn new(seed: u64) -> TestRng {
        TestRng(seed)
    }

    /// A number from 0 up to, but not including, `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}
