//! Whether a request is recent and comes from Slack: version 0 of its signatures, over the time and the raw body.
//! <https://api.slack.com/authentication/verifying-requests-from-slack>

use hmac::{Hmac, Mac};
use nod_contract::clock::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// When it was signed, in seconds since 1970.
pub(super) const TIMESTAMP: &str = "x-slack-request-timestamp";
/// `v0=` and 64 hexadecimal digits.
pub(super) const SIGNATURE: &str = "x-slack-signature";
/// The maximum age in seconds; an older request could be a replay.
const MAX_AGE_SECS: u64 = 5 * 60;

/// Returns whether these could belong to a recent request of Slack: all that can be checked before the body is read.
pub(super) fn is_plausible(at: &str, signature: &str, now: Timestamp) -> bool {
    let recent = at.parse::<i64>().is_ok_and(|signed_at| now.timestamp().abs_diff(signed_at) <= MAX_AGE_SECS);
    recent && code(signature).is_some()
}

/// Returns whether `signature` is Slack's for this body, and recent; takes the same time for every signature.
pub(super) fn is_valid(
    secret: &SecretString,
    at: &str,
    body: &[u8],
    signature: &str,
    now: Timestamp,
) -> bool {
    if !is_plausible(at, signature, now) {
        return false;
    }
    let Some(code) = code(signature) else { return false };
    // Any key length is valid.
    let Ok(mac) = <Hmac<Sha256> as Mac>::new_from_slice(secret.expose_secret().as_bytes()) else {
        return false;
    };
    mac.chain_update(format!("v0:{at}:")).chain_update(body).verify_slice(&code).is_ok()
}

fn code(signature: &str) -> Option<[u8; 32]> {
    let mut code = [0; 32];
    hex::decode_to_slice(signature.strip_prefix("v0=")?, &mut code).ok()?;
    Some(code)
}

#[cfg(test)]
mod tests {
    use nod_contract::clock::Timestamp;

    use super::*;

    /// The example in Slack's own documentation.
    const BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V\
                        &channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=\
                        &response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN\
                        &trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const CODE: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(seconds, 0).unwrap_or_default()
    }

    #[test]
    fn only_fresh_slack_signatures_are_valid() {
        let secret = SecretString::from("8f742231b10e8888abcd99yyyzzz85a5");
        let then = "1531420618";
        let valid = |at: &str, body: &str, code: &str, now: Timestamp| {
            is_valid(&secret, at, body.as_bytes(), code, now)
        };
        let now = at(1_531_420_618);
        assert!(valid(then, BODY, CODE, now));
        assert!(valid(then, BODY, CODE, at(1_531_420_618 + 300)));
        assert!(!valid(then, BODY, CODE, at(1_531_420_618 + 301)));
        assert!(!valid(then, BODY, CODE, at(1_531_420_618 - 301)));
        assert!(!valid(then, &format!("{BODY} "), CODE, now));
        assert!(!valid("1531420619", BODY, CODE, now));
        assert!(!valid(then, BODY, &CODE.replace('a', "b"), now));
        assert!(!valid(then, BODY, &CODE[..40], now));
        assert!(!valid(then, BODY, &CODE[3..], now));
        assert!(!valid(then, BODY, "v0=", now));
        assert!(!valid(then, BODY, "", now));
        assert!(!valid("", BODY, CODE, now));
        assert!(!valid("-9223372036854775808", BODY, CODE, now));
    }
}
