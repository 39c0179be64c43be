//! The public keys of an external issuer: a JSON Web Key Set, and how each key verifies.
//!
//! The type of a key determines its algorithm; the header of a token is only compared with it. So no token can make
//! the server use an RSA key as an HMAC secret. Symmetric keys are not accepted at all.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{Error, Kind, Result, strict_json};
use ring::digest;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

use crate::limits;

/// A signature algorithm of external tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA with PKCS #1 v1.5 padding and SHA-256, 2048 bits or more.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All supported algorithms.
    pub const ALL: [Algorithm; 3] = [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa];

    /// The name in a token's header.
    pub fn as_str(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Es256 => "ES256",
            Algorithm::EdDsa => "EdDSA",
        }
    }

    /// Parses the name.
    pub fn parse(text: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.as_str() == text)
    }
}

/// A public key.
#[derive(Debug)]
pub enum Jwk {
    /// Modulus and exponent.
    Rsa { n: Vec<u8>, e: Vec<u8> },
    /// An uncompressed point.
    P256(Vec<u8>),
    /// 32 bytes.
    Ed25519(Vec<u8>),
}

impl Jwk {
    /// The only algorithm of this key.
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Jwk::Rsa { .. } => Algorithm::Rs256,
            Jwk::P256(_) => Algorithm::Es256,
            Jwk::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Whether `signature` is a valid signature of `message`.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Jwk::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            Jwk::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Jwk::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
        };
        verified.is_ok()
    }

    /// Parses a signature key of a supported type. An issuer may publish other keys beside it.
    fn parse(entry: &Value) -> Option<Jwk> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let bytes = |name: &str| text(name).and_then(|text| BASE64.decode(text).ok());
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let operations = entry.get("key_ops").and_then(Value::as_array);
        if operations.is_some_and(|operations| !operations.iter().any(|operation| operation == "verify")) {
            return None;
        }
        let key = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                Jwk::Rsa { n: strip_leading_zeros(bytes("n")?), e: strip_leading_zeros(bytes("e")?) }
            }
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes("x")?, bytes("y")?);
                if x.len() != 32 || y.len() != 32 {
                    return None;
                }
                Jwk::P256([&[4], x.as_slice(), y.as_slice()].concat())
            }
            ("OKP", Some("Ed25519")) => Jwk::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
            _ => return None,
        };
        text("alg").is_none_or(|alg| alg == key.algorithm().as_str()).then_some(key)
    }
}

/// Some issuers write a number with leading zeros, which the verifier rejects.
fn strip_leading_zeros(number: Vec<u8>) -> Vec<u8> {
    number.into_iter().skip_while(|byte| *byte == 0).collect()
}

/// The keys by id.
#[derive(Debug, Default)]
pub struct KeySet {
    keys: HashMap<String, Jwk>,
    /// Differs for different contents.
    pub version: u64,
}

impl KeySet {
    /// Parses a JSON Web Key Set. Unsupported keys are skipped; two keys with the same id are an error.
    pub fn parse(bytes: &[u8]) -> Result<KeySet> {
        let invalid =
            |problem: &str| Error::new(Kind::BadInput, "KEY_SET_INVALID", format!("The key set {problem}"));
        let document = strict_json::parse_object(bytes).map_err(|_| invalid("is not a JSON object"))?;
        let entries = document.get("keys").and_then(Value::as_array);
        let entries = entries.ok_or_else(|| invalid("has no list of keys"))?;
        if entries.len() > limits::KEY_SET_KEYS_MAX {
            return Err(invalid("has too many keys").with_detail("limit", limits::KEY_SET_KEYS_MAX));
        }
        let mut keys = HashMap::new();
        for entry in entries {
            let (Some(kid), Some(key)) = (entry.get("kid").and_then(Value::as_str), Jwk::parse(entry)) else {
                continue;
            };
            if keys.insert(kid.to_owned(), key).is_some() {
                return Err(invalid("has two keys with the same kid"));
            }
        }
        let digest = digest::digest(&digest::SHA256, bytes);
        let version = digest.as_ref().iter().take(8).fold(0, |version, byte| version << 8 | u64::from(*byte));
        Ok(KeySet { keys, version })
    }

    /// The key with this id.
    pub fn find(&self, kid: &str) -> Option<&Jwk> {
        self.keys.get(kid)
    }

    /// Whether the set has no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CLAIMS: &str =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

    fn rsa() -> Value {
        json!({
            "kty": "RSA",
            "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4Ql\
                  L-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e\
                  -KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_\
                  h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
            "e": "AQAB",
        })
    }

    fn p256() -> Value {
        json!({
            "kty": "EC",
            "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        })
    }

    fn ed25519() -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})
    }

    /// RFC 7515, appendices A.2 and A.3; RFC 8037, appendix A.4.
    #[test]
    fn verify_matches_rfc_examples() {
        let check = |key: Value, signed: &str, signature: &str| {
            let signature = BASE64.decode(signature).unwrap();
            let jwk = Jwk::parse(&key).unwrap();
            assert!(jwk.verify(signed.as_bytes(), &signature), "{key}");
            assert!(!jwk.verify(format!("{signed}x").as_bytes(), &signature), "{key}");
            for other in [rsa(), p256(), ed25519()].into_iter().filter(|other| *other != key) {
                assert!(!Jwk::parse(&other).unwrap().verify(signed.as_bytes(), &signature), "{other}");
            }
        };
        check(
            rsa(),
            &format!("eyJhbGciOiJSUzI1NiJ9.{CLAIMS}"),
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb\
             F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383\
             LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy\
             wlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        );
        check(
            p256(),
            &format!("eyJhbGciOiJFUzI1NiJ9.{CLAIMS}"),
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        );
        check(
            ed25519(),
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        );
    }

    fn with_member(mut key: Value, name: &str, value: Value) -> Value {
        key[name] = value;
        key
    }

    #[test]
    fn unusable_keys_are_skipped() {
        for good in
            [with_member(p256(), "use", "sig".into()), with_member(p256(), "key_ops", json!(["verify"]))]
        {
            assert!(Jwk::parse(&good).is_some(), "{good}");
        }
        for other in [
            json!({"kty": "oct", "k": "c2VjcmV0"}),
            with_member(rsa(), "use", "enc".into()),
            with_member(rsa(), "alg", "HS256".into()),
            with_member(rsa(), "alg", "RS512".into()),
            with_member(p256(), "crv", "P-384".into()),
            with_member(p256(), "key_ops", json!(["sign"])),
            with_member(p256(), "x", "AA".into()),
            with_member(ed25519(), "crv", "X25519".into()),
            with_member(ed25519(), "x", "AA".into()),
            json!("key"),
        ] {
            assert!(Jwk::parse(&other).is_none(), "{other}");
        }
    }

    #[test]
    fn key_set_finds_by_kid_and_rejects_duplicate_kids() {
        let named = |key: Value, kid: &str| with_member(key, "kid", kid.into());
        let parse = |keys: Vec<Value>| KeySet::parse(json!({"keys": keys}).to_string().as_bytes());
        let set = parse(vec![named(rsa(), "a"), named(p256(), "b"), ed25519()]).unwrap();
        assert_eq!(set.find("a").unwrap().algorithm(), Algorithm::Rs256);
        assert_eq!(set.find("b").unwrap().algorithm(), Algorithm::Es256);
        assert!(set.find("").is_none() && set.find("c").is_none());
        assert_ne!(set.version, parse(vec![named(rsa(), "a")]).unwrap().version);
        assert!(parse(vec![ed25519()]).unwrap().is_empty());
        assert!(parse(vec![named(rsa(), "a"), named(p256(), "a")]).is_err());
        assert!(parse(vec![p256(); limits::KEY_SET_KEYS_MAX + 1]).is_err());
        for wrong in ["", "[]", "{}", r#"{"keys":{}}"#] {
            assert_eq!(KeySet::parse(wrong.as_bytes()).unwrap_err().code(), "KEY_SET_INVALID", "{wrong}");
        }
    }
}
