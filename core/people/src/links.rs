//! The private link behind Connect: the offer's id and a code that only this installation can make. Rows hold only the
//! id, so reading a row gives no working link.

use nod_contract::card::{Card, OnClick};
use nod_contract::ids::OfferId;
use nod_contract::provider::Provider;
use nod_store::vault::Vault;

/// Makes the links, and recognises its own.
#[derive(Clone)]
pub struct Links {
    pub vault: Vault,
    /// The public URL of this Nod, without a trailing slash.
    pub public_url: String,
}

impl Links {
    /// Returns the token in the link.
    fn token(&self, offer: OfferId) -> String {
        format!("{}.{}", offer.0.simple(), self.vault.sign(&format!("offer/{offer}")))
    }

    /// Returns the offer behind a token, if this installation made it.
    pub fn parse_link_token(&self, token: &str) -> Option<OfferId> {
        let (id, code) = token.split_once('.')?;
        let offer = OfferId(id.parse().ok()?);
        self.vault.is_signature_valid(&format!("offer/{offer}"), code).then_some(offer)
    }

    fn url(&self, provider: Provider, offer: OfferId) -> String {
        let base = self.public_url.trim_end_matches('/');
        format!("{base}/oauth/{}/start?t={}", provider.as_str(), self.token(offer))
    }

    /// Returns the card as it is sent, with its links.
    pub fn resolve_links(&self, mut card: Card) -> Card {
        for button in card.all_buttons_mut() {
            if let OnClick::Connect { provider, offer } = button.on_click {
                button.on_click = OnClick::Link(self.url(provider, offer));
            }
        }
        card
    }
}
