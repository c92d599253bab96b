//! The key of a service account, generated for each: RSA with 2048 bits, by the textbook. It is used only with this
//! fake, so nothing here protects against timing attacks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigUint;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};

const HALF: usize = 1024;
/// Rounds of Miller–Rabin. Far fewer suffice for random candidates of this size.
const ROUNDS: usize = 8;
const SMALL: u32 = 2000;
const PUBLIC_EXPONENT: u32 = 65_537;

/// A key; its private half is available only as PEM.
pub(super) struct ServiceAccountKey {
    modulus: Vec<u8>,
    pem: String,
}

impl std::fmt::Debug for ServiceAccountKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

impl ServiceAccountKey {
    pub fn new() -> Self {
        let e = BigUint::from(PUBLIC_EXPONENT);
        let one = BigUint::from(1_u32);
        loop {
            let (a, b) = (prime(), prime());
            if a == b {
                continue;
            }
            let (p, q) = if a > b { (a, b) } else { (b, a) };
            let (less_p, less_q) = (&p - &one, &q - &one);
            let (Some(d), Some(inverse)) = (e.modinv(&(&less_p * &less_q)), q.modinv(&p)) else { continue };
            let n = &p * &q;
            let (d_p, d_q) = (&d % &less_p, &d % &less_q);
            let pem = pem(&[&n, &e, &d, &p, &q, &d_p, &d_q, &inverse]);
            return Self { modulus: n.to_bytes_be(), pem };
        }
    }

    /// Returns the PEM in the format of the Google Cloud console: PKCS #8.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns whether this signature (RS256) was made with the key.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let e = PUBLIC_EXPONENT.to_be_bytes();
        let public = RsaPublicKeyComponents { n: self.modulus.as_slice(), e: &e[1..] };
        public.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
    }
}

fn prime() -> BigUint {
    loop {
        let mut bytes: Vec<u8> = (0..HALF / 8).map(|_| rand::random()).collect();
        // The two top bits make the product have its full length, and the lowest bit makes the candidate odd.
        bytes[0] |= 0b1100_0000;
        bytes[HALF / 8 - 1] |= 1;
        let candidate = BigUint::from_bytes_be(&bytes);
        if is_prime(&candidate) {
            return candidate;
        }
    }
}

fn is_prime(n: &BigUint) -> bool {
    let small = |divisor: u32| (n % divisor) == BigUint::ZERO;
    if (3..SMALL).step_by(2).any(small) {
        return false;
    }
    let one = BigUint::from(1_u32);
    let less = n - &one;
    let twos = less.trailing_zeros().unwrap_or_default();
    let odd = &less >> twos;
    (0..ROUNDS).all(|_| {
        let base = BigUint::from(rand::random::<u64>() | 2);
        let mut power = base.modpow(&odd, n);
        if power == one || power == less {
            return true;
        }
        (1..twos).any(|_| {
            power = &power * &power % n;
            power == less
        })
    })
}

/// Encodes PKCS #8 around PKCS #1 (RFC 5208, RFC 8017).
fn pem(numbers: &[&BigUint; 8]) -> String {
    const ZERO: [u8; 3] = [0x02, 0x01, 0x00];
    const RSA_ENCRYPTION: [u8; 15] =
        [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
    let integers: Vec<u8> = numbers.iter().flat_map(|number| integer(number)).collect();
    let inner = der(0x30, &[&ZERO[..], &integers].concat());
    let outer = der(0x30, &[&ZERO[..], &RSA_ENCRYPTION, &der(0x04, &inner)].concat());
    let letters = STANDARD.encode(outer);
    let lines: Vec<_> = letters.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"))
}

fn integer(number: &BigUint) -> Vec<u8> {
    let mut bytes = number.to_bytes_be();
    if bytes.first().is_some_and(|first| first & 0x80 != 0) {
        bytes.insert(0, 0);
    }
    der(0x02, &bytes)
}

fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let skip = length.iter().take_while(|byte| **byte == 0).count().min(length.len() - 1);
    let length = &length[skip..];
    let head = match length {
        [short @ 0..0x80] => vec![tag, *short],
        long => [&[tag, 0x80 | u8::try_from(long.len()).unwrap_or_default()], long].concat(),
    };
    [head, content.to_vec()].concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ring::rand::SystemRandom;
    use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};

    use super::*;

    #[test]
    fn what_is_signed_with_the_key_that_is_given_out_verifies_and_nothing_else() {
        let key = ServiceAccountKey::new();
        let letters: String = key.pem().lines().filter(|line| !line.starts_with('-')).collect();
        let pair = RsaKeyPair::from_pkcs8(&STANDARD.decode(letters).unwrap()).unwrap();
        let mut signature = vec![0; pair.public().modulus_len()];
        pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), b"yes", &mut signature).unwrap();
        assert!(key.verifies(b"yes", &signature));
        assert!(!key.verifies(b"no", &signature));
        assert!(!ServiceAccountKey::new().verifies(b"yes", &signature));
    }
}
