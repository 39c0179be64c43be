//! Currencies: a code of three to five capital letters, and the number of decimals in common use.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The code of a currency or token: `EUR`, `USD`, `USDC`.
///
/// Every code of three to five letters is valid, also an unknown one: new currencies appear.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency {
    // Padded with zeros, so that byte order is the order of the codes.
    code: [u8; 5],
}

/// The text is not a currency code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a currency is a code of three to five capital letters, such as EUR or USDC")]
pub struct CurrencyError;

impl Currency {
    /// The euro.
    pub const EUR: Currency = Currency { code: *b"EUR\0\0" };
    /// The US dollar.
    pub const USD: Currency = Currency { code: *b"USD\0\0" };

    /// Parses a code as it is stored: capitals only.
    pub fn parse(text: &str) -> Result<Currency, CurrencyError> {
        let bytes = text.as_bytes();
        if !(3..=5).contains(&bytes.len()) || !bytes.iter().all(u8::is_ascii_uppercase) {
            return Err(CurrencyError);
        }
        let mut code = [0; 5];
        for (target, byte) in code.iter_mut().zip(bytes) {
            *target = *byte;
        }
        Ok(Currency { code })
    }

    /// Parses what people and banks write: a code of three letters in any case, or a symbol that means one currency in
    /// most places.
    pub fn from_code_or_symbol(text: &str) -> Option<Currency> {
        let text = text.trim();
        let code = match text {
            "€" => "EUR",
            // About twenty currencies use the dollar sign; those other than the US dollar are written with letters.
            "$" | "US$" => "USD",
            "£" => "GBP",
            "¥" | "￥" => "JPY",
            "₹" => "INR",
            "₽" => "RUB",
            "₴" => "UAH",
            "₺" => "TRY",
            "₩" => "KRW",
            "₪" => "ILS",
            "₫" => "VND",
            "₦" => "NGN",
            "฿" => "THB",
            "zł" => "PLN",
            "Kč" => "CZK",
            "Ft" => "HUF",
            "Fr." | "SFr." => "CHF",
            "R$" => "BRL",
            "C$" | "CA$" => "CAD",
            "A$" | "AU$" => "AUD",
            "NZ$" => "NZD",
            "HK$" => "HKD",
            "S$" => "SGD",
            _ => {
                // Longer lower-case words are more often words than codes.
                return match text.len() {
                    3 => Currency::parse(&text.to_ascii_uppercase()).ok(),
                    _ => Currency::parse(text).ok(),
                };
            }
        };
        Currency::parse(code).ok()
    }

    /// The code.
    pub fn as_str(&self) -> &str {
        let length = self.code.iter().position(|byte| *byte == 0).unwrap_or(self.code.len());
        // Only capitals are stored; the empty text is unreachable and harmless.
        std::str::from_utf8(self.code.get(..length).unwrap_or_default()).unwrap_or_default()
    }

    /// The decimals in common use: two unless ISO 4217 differs. A stablecoin has those of its currency.
    pub fn minor_digits(&self) -> usize {
        match self.as_str() {
            "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX" | "UYI"
            | "VND" | "VUV" | "XAF" | "XOF" | "XPF" => 0,
            "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
            "CLF" | "UYW" => 4,
            "BTC" | "XBT" | "ETH" | "WETH" | "WBTC" => 8,
            _ => 2,
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Currency {
    type Err = CurrencyError;

    fn from_str(text: &str) -> Result<Currency, CurrencyError> {
        Currency::parse(text)
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Currency, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Currency::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_three_to_five_uppercase_letters() {
        for code in ["EUR", "USDC", "STETH"] {
            assert_eq!(Currency::parse(code).unwrap().as_str(), code);
        }
        for text in ["", "EU", "eur", "EURUSD", "EU1", "€"] {
            assert_eq!(Currency::parse(text), Err(CurrencyError), "{text}");
        }
    }

    #[test]
    fn parses_symbols_and_lowercase_codes() {
        assert_eq!(Currency::from_code_or_symbol(" € "), Some(Currency::EUR));
        assert_eq!(Currency::from_code_or_symbol("usd"), Some(Currency::USD));
        assert_eq!(Currency::from_code_or_symbol("USDC"), Currency::parse("USDC").ok());
        assert_eq!(Currency::from_code_or_symbol("Konto"), None);
        assert_eq!(Currency::from_code_or_symbol("Gebühr"), None);
        assert_eq!(Currency::from_code_or_symbol(""), None);
    }

    #[test]
    fn minor_digits_follow_the_standard() {
        let digits = |code| Currency::parse(code).unwrap().minor_digits();
        assert_eq!(
            [digits("EUR"), digits("JPY"), digits("KWD"), digits("CLF"), digits("USDC")],
            [2, 0, 3, 4, 2]
        );
    }

    #[test]
    fn codes_sort_as_text() {
        let mut codes: Vec<Currency> =
            ["USDC", "USD", "EUR"].iter().map(|code| Currency::parse(code).unwrap()).collect();
        codes.sort();
        assert_eq!(format!("{codes:?}"), "[EUR, USD, USDC]");
    }
}
