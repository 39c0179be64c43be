//! Pseudo-random numbers that are the same for the same seed, on every machine and in every release.

/// A splitmix64 generator. A dependency could change its stream with a release, and old seeds would lose their
/// meaning.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 if `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next_u64() % limit.max(1)
    }

    /// An index into a sequence of this length.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// True with a probability of `percent` in 100.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the choices by weight; `None` if the sum of the weights is 0.
    pub fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> Option<T> {
        let mut remaining = self.below(choices.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in choices {
            if remaining < *weight {
                return Some(*choice);
            }
            remaining -= weight;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published first numbers of splitmix64 for 1234567. A change of the stream would change every schedule.
    #[test]
    fn random_matches_published_splitmix64_vector() {
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn weighted_never_returns_zero_weight() {
        let mut random = Random::new(1);
        assert!((0..100).all(|_| random.weighted(&[(0, 'a'), (3, 'b'), (0, 'c')]) == Some('b')));
        assert_eq!(random.weighted::<char>(&[]), None);
    }
}
