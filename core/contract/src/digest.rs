//! The digest that binds an approval to its payload.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Returns SHA-256 over the RFC 8785 form of the payload (which includes its schema version), in hex.
///
/// # Errors
/// If the payload holds a number that RFC 8785 cannot represent.
pub fn digest(payload: &Value) -> Result<String, serde_json::Error> {
    Ok(hex::encode(Sha256::digest(serde_json_canonicalizer::to_vec(payload)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn digest_ignores_key_order_but_not_content() {
        let one = digest(&json!({ "schema": 1, "to": ["bo@x.test"], "body": "é" })).unwrap();
        let same = digest(&json!({ "body": "é", "to": ["bo@x.test"], "schema": 1 })).unwrap();
        let other = digest(&json!({ "schema": 1, "to": ["bo@x.test"], "body": "e" })).unwrap();
        assert_eq!(one, same);
        assert_ne!(one, other);
        // What RFC 8785 requires, written by hand.
        let by_hand = Sha256::digest("{\"body\":\"é\",\"schema\":1,\"to\":[\"bo@x.test\"]}");
        assert_eq!(one, hex::encode(by_hand));
    }
}
