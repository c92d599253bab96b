//! What a number counts: 30 days are not 30 weeks, and 1,000 euros are not 1,000 dollars.

/// Words for the same unit.
const UNITS: [&str; 12] = [
    "day days tag tage tagen jour jours día días giorno giorni dag dagen dia dias",
    "week weeks woche wochen semaine semaines semana semanas settimana settimane weken",
    "month months monat monate monaten mois mes meses mese mesi maand maanden mês",
    "year years jahr jahre jahren ans année années año años anno anni jaar ano anos",
    "hour hours stunde stunden heure heures hora horas ora uur",
    "minute minutes minuten minuto minutos minuti minuut",
    "kilometre kilometres kilometer kilometers km",
    "percent",
    "euro euros eur",
    "dollar dollars usd",
    "pound pounds gbp",
    "franc francs franken chf",
];
/// From here on they may stand before their number.
const FIRST_CURRENCY: usize = 8;

/// Returns the unit that a word is.
fn parse_unit(word: &str) -> Option<usize> {
    UNITS.iter().position(|names| names.split(' ').any(|name| name == word))
}

/// Returns the unit of the number at a place.
pub(super) fn unit_at(words: &[String], at: usize) -> Option<usize> {
    let before = at.checked_sub(1).and_then(|before| parse_unit(&words[before]));
    let after = words.get(at + 1).and_then(|word| parse_unit(word));
    after.or_else(|| before.filter(|unit| *unit >= FIRST_CURRENCY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::compared_words;

    #[test]
    fn a_number_has_the_unit_beside_it() {
        let unit = |text: &str| {
            let words = compared_words(text);
            let at = words.iter().position(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap();
            unit_at(&words, at)
        };
        for (a, b) in
            [("30 days", "30 Tage"), ("€1,000", "1,000 euros"), ("$ 5", "5 USD"), ("5 %", "5 percent")]
        {
            assert!(unit(a).is_some(), "{a}");
            assert_eq!(unit(a), unit(b), "{a}");
        }
        assert_ne!(unit("€1,000"), unit("$1,000"));
        assert_eq!((unit("within weeks 30 people"), unit("25")), (None, None));
    }
}
