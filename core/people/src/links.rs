//! The private link behind [Connect]: the offer's id and a code that only this installation can make. Rows
//! hold the id alone, so reading a row gives nobody a working link.

use nod_contract::card::{Card, OnClick};
use nod_contract::ids::OfferId;
use nod_contract::provider::Provider;
use nod_store::vault::Vault;

/// Makes the links, and tells its own from others'.
#[derive(Clone)]
pub struct Links {
    pub vault: Vault,
    /// Where a browser reaches this Nod, without a trailing slash.
    pub public_url: String,
}

impl Links {
    /// The text that the link carries.
    fn token(&self, offer: OfferId) -> String {
        format!("{}.{}", offer.0.simple(), self.vault.sign(&format!("offer/{offer}")))
    }

    /// The offer behind a token, if this installation made it.
    pub fn offer(&self, token: &str) -> Option<OfferId> {
        let (id, code) = token.split_once('.')?;
        let offer = OfferId(id.parse().ok()?);
        self.vault.is_signature_valid(&format!("offer/{offer}"), code).then_some(offer)
    }

    fn url(&self, provider: Provider, offer: OfferId) -> String {
        let base = self.public_url.trim_end_matches('/');
        format!("{base}/oauth/{}/start?t={}", provider.as_str(), self.token(offer))
    }

    /// A card as it goes out, its links made.
    pub fn resolved(&self, mut card: Card) -> Card {
        for button in &mut card.buttons {
            if let OnClick::Connect { provider, offer } = button.on_click {
                button.on_click = OnClick::Link(self.url(provider, offer));
            }
        }
        card
    }
}
