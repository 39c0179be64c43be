//! A vector of length one, and the dot product.

use quad_core::{Error, Result};

use super::limits::DIMENSIONS;

/// Partial sums of [`Vector::dot`]: one 512-bit register, two of 256 bits or four of 128.
const LANES: usize = 16;

/// 128 finite numbers of length one. Aligned to a cache line, so that no row spans one more than necessary.
#[derive(Clone, Debug, PartialEq)]
#[repr(align(64))]
pub struct Vector([f32; DIMENSIONS]);

impl Vector {
    /// Scales to length one. Rejects numbers that are not finite or all zero.
    pub fn normalize(mut numbers: [f32; DIMENSIONS]) -> Result<Vector> {
        scale_to_unit(&mut numbers)?;
        Ok(Vector(numbers))
    }

    /// The cosine of two vectors. The sixteen lanes fix the order of the additions, so the result has the same bits
    /// whichever instructions the compiler uses.
    #[inline]
    pub fn dot(&self, other: &Vector) -> f32 {
        let mut lanes = [0.0_f32; LANES];
        for (ours, theirs) in self.0.chunks_exact(LANES).zip(other.0.chunks_exact(LANES)) {
            for lane in 0..LANES {
                lanes[lane] += ours[lane] * theirs[lane];
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] += lanes[lane + width];
            }
            width /= 2;
        }
        lanes[0]
    }

    /// The numbers.
    pub fn components(&self) -> &[f32; DIMENSIONS] {
        &self.0
    }
}

/// Scales numbers to length one. Rejects numbers that are not finite or all zero.
pub(super) fn scale_to_unit(numbers: &mut [f32]) -> Result<()> {
    if let Some(index) = numbers.iter().position(|number| !number.is_finite()) {
        return Err(Error::bad_input(format!("Number {index} of the vector is not finite"))
            .hint("Give finite numbers only"));
    }
    // In f64, since the square of a large f32 overflows.
    let length = numbers.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if length == 0.0 {
        return Err(Error::bad_input("The vector is all zeros and points nowhere")
            .hint("Give another vector, or give the text instead of a vector"));
    }
    for number in numbers {
        *number = (f64::from(*number) / length) as f32;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invalid_vectors_are_rejected() {
        let error_message = |numbers| Vector::normalize(numbers).unwrap_err().message().to_owned();
        assert!(error_message([0.0; DIMENSIONS]).contains("zeros"));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut numbers = [1.0; DIMENSIONS];
            numbers[7] = bad;
            assert!(error_message(numbers).contains("Number 7"));
        }
    }

    #[test]
    fn extreme_values_are_normalized() {
        for number in [f32::MAX, f32::MIN_POSITIVE, 1e-45] {
            let vector = Vector::normalize([number; DIMENSIONS]).unwrap();
            assert!((vector.dot(&vector) - 1.0).abs() < 1e-5, "{number}");
        }
    }

    fn unit(numbers: &[f32]) -> Vector {
        Vector::normalize(numbers.try_into().unwrap()).unwrap()
    }

    proptest! {
        #[test]
        fn dot_matches_naive_loop(
            a in prop::collection::vec(-1.0f32..1.0, DIMENSIONS),
            b in prop::collection::vec(-1.0f32..1.0, DIMENSIONS),
        ) {
            prop_assume!(a.iter().any(|n| *n != 0.0) && b.iter().any(|n| *n != 0.0));
            let (a, b) = (unit(&a), unit(&b));
            let expected: f64 = a.0.iter().zip(b.0).map(|(x, y)| f64::from(*x) * f64::from(y)).sum();
            prop_assert!((f64::from(a.dot(&b)) - expected).abs() < 1e-6);
        }
    }
}
