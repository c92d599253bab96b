//! The private link behind [Connect]: the offer's id and a code that only this installation can make. Rows
//! hold the id alone, so reading a row gives nobody a working link.

use crate::card::{Card, Press};
use crate::ids::OfferId;
use crate::nod::Core;
use crate::provider::Provider;
use crate::secret::Vault;

/// The text that the link carries.
pub(super) fn token(vault: &Vault, offer: OfferId) -> String {
    format!("{}.{}", offer.0.simple(), vault.sign(&format!("offer/{offer}")))
}

/// The offer behind a token, if this installation made it.
pub(super) fn offer(vault: &Vault, token: &str) -> Option<OfferId> {
    let (id, code) = token.split_once('.')?;
    let offer = OfferId(id.parse().ok()?);
    vault.signed(&format!("offer/{offer}"), code).then_some(offer)
}

fn url(core: &Core, provider: Provider, offer: OfferId) -> String {
    let base = core.settings.public_url.trim_end_matches('/');
    format!("{base}/oauth/{}/start?t={}", provider.as_str(), token(&core.vault, offer))
}

/// A card as it goes out, its links made.
pub(crate) fn resolved(core: &Core, mut card: Card) -> Card {
    for button in &mut card.buttons {
        if let Press::Connect { provider, offer } = button.does {
            button.does = Press::Link(url(core, provider, offer));
        }
    }
    card
}
