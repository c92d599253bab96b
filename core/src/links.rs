//! The private link behind [Connect]: the offer's id and a code that only this installation can make. Rows
//! hold the id alone, so reading a row gives nobody a working link.

use crate::card::{Card, Press};
use crate::ids::OfferId;
use crate::provider::Provider;
use crate::secret::Vault;

/// Makes the links, and tells its own from others'.
#[derive(Clone)]
pub(crate) struct Links {
    pub(crate) vault: Vault,
    /// Where a browser reaches this Nod, without a trailing slash.
    pub(crate) public_url: String,
}

impl Links {
    /// The text that the link carries.
    fn token(&self, offer: OfferId) -> String {
        format!("{}.{}", offer.0.simple(), self.vault.sign(&format!("offer/{offer}")))
    }

    /// The offer behind a token, if this installation made it.
    pub(crate) fn offer(&self, token: &str) -> Option<OfferId> {
        let (id, code) = token.split_once('.')?;
        let offer = OfferId(id.parse().ok()?);
        self.vault.signed(&format!("offer/{offer}"), code).then_some(offer)
    }

    fn url(&self, provider: Provider, offer: OfferId) -> String {
        let base = self.public_url.trim_end_matches('/');
        format!("{base}/oauth/{}/start?t={}", provider.as_str(), self.token(offer))
    }

    /// A card as it goes out, its links made.
    pub(crate) fn resolved(&self, mut card: Card) -> Card {
        for button in &mut card.buttons {
            if let Press::Connect { provider, offer } = button.does {
                button.does = Press::Link(self.url(provider, offer));
            }
        }
        card
    }
}
