//! Seals secrets before they are stored: XChaCha20-Poly1305, with the id of the key next to the ciphertext
//! so that keys can rotate, and the row's identity as associated data so that a sealed value cannot be
//! moved to another row.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use nod_contract::ids::Ids;

/// A key and its id.
#[derive(Clone)]
pub struct Vault {
    cipher: XChaCha20Poly1305,
    /// Uses a key derived from the vault's key, so that signed links and sealed secrets share none.
    signer: Hmac<Sha256>,
    key_id: String,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vault({})", self.key_id)
    }
}

/// Why a secret could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// `secrets.key` is not 32 bytes in base64.
    #[error("secrets.key must be 32 bytes in base64 (try: openssl rand -base64 32)")]
    InvalidKey,
    /// The value was sealed with another key, or was changed since.
    #[error("sealed with key {sealed_with}, but the key here is {key_here}, or the row was changed")]
    UnsealFailed { sealed_with: String, key_here: String },
}

impl Vault {
    /// Creates a vault with this key: 32 bytes in base64.
    ///
    /// # Errors
    /// If the key is anything else.
    pub fn new(key: &SecretString) -> Result<Self, VaultError> {
        let bytes = STANDARD.decode(key.expose_secret().trim()).map_err(|_| VaultError::InvalidKey)?;
        if bytes.len() != 32 {
            return Err(VaultError::InvalidKey);
        }
        let key_id = hex::encode(&Sha256::digest(&bytes)[..4]);
        let link_key = Sha256::new().chain_update(b"nod links").chain_update(&bytes).finalize();
        let signer = <Hmac<Sha256> as Mac>::new_from_slice(&link_key).map_err(|_| VaultError::InvalidKey)?;
        Ok(Self { cipher: XChaCha20Poly1305::new(Key::from_slice(&bytes)), signer, key_id })
    }

    /// Generates a key, in the form that [`Vault::new`] reads.
    #[must_use]
    pub fn generate_key(ids: &dyn Ids) -> String {
        STANDARD.encode(ids.secret())
    }

    /// Returns the id of the key, which identifies the key without revealing it.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Signs `text`, for links. Only this key can produce the code.
    #[must_use]
    pub fn sign(&self, text: &str) -> String {
        hex::encode(self.signer.clone().chain_update(text).finalize().into_bytes())
    }

    /// Returns whether `code` is the result of [`Vault::sign`] for `text`. The comparison takes constant time.
    #[must_use]
    pub fn is_signature_valid(&self, text: &str, code: &str) -> bool {
        let Ok(code) = hex::decode(code) else { return false };
        self.signer.clone().chain_update(text).verify_slice(&code).is_ok()
    }

    /// Seals `plain` for the row named by `context`. The result is text: `v1.keyid.nonce.ciphertext`.
    #[must_use]
    pub fn seal(&self, plain: &SecretString, context: &str, ids: &dyn Ids) -> String {
        let nonce = ids.secret();
        let nonce = &nonce[..24];
        let payload = Payload { msg: plain.expose_secret().as_bytes(), aad: context.as_bytes() };
        // The cipher only refuses plaintexts of more than 256 GiB.
        let sealed = self.cipher.encrypt(XNonce::from_slice(nonce), payload).unwrap_or_default();
        format!("v1.{}.{}.{}", self.key_id, STANDARD.encode(nonce), STANDARD.encode(sealed))
    }

    /// Decrypts the result of [`Vault::seal`] for the same context.
    ///
    /// # Errors
    /// If it was sealed with another key, or was changed or moved.
    pub fn unseal(&self, sealed: &str, context: &str) -> Result<SecretString, VaultError> {
        let parts: Vec<&str> = sealed.split('.').collect();
        let refused = || VaultError::UnsealFailed {
            sealed_with: parts.get(1).map_or_else(|| "?".to_owned(), |id| (*id).to_owned()),
            key_here: self.key_id.clone(),
        };
        let ["v1", _, nonce, text] = parts[..] else { return Err(refused()) };
        let nonce = STANDARD.decode(nonce).ok().filter(|n| n.len() == 24).ok_or_else(refused)?;
        let text = STANDARD.decode(text).map_err(|_| refused())?;
        let payload = Payload { msg: &text, aad: context.as_bytes() };
        let plain = self.cipher.decrypt(XNonce::from_slice(&nonce), payload).map_err(|_| refused())?;
        String::from_utf8(plain).map(SecretString::from).map_err(|_| refused())
    }
}
