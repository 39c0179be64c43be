//! Bank statements: bytes in, typed statements out. No I/O, no clock, no database.

pub mod amount;
pub mod currency;

pub use amount::{Amount, AmountError};
pub use currency::{Currency, CurrencyError};
