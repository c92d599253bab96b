//! The chunks that have a term, in little memory.

/// Chunks by their place, in order, each with the term's weight there. Written is how far each is behind the one before,
/// seven bits a byte, and then its weight in two bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Postings {
    bytes: Vec<u8>,
    last: u32,
    count: u32,
}

impl Postings {
    pub(crate) fn count(&self) -> u64 {
        u64::from(self.count)
    }

    /// Adds a chunk behind all that are there.
    pub(crate) fn push(&mut self, at: u32, weight: i16) {
        let mut gap = at - self.last;
        while gap >= 0x80 {
            self.bytes.push(gap as u8 | 0x80);
            gap >>= 7;
        }
        self.bytes.push(gap as u8);
        self.bytes.extend(weight.to_le_bytes());
        self.last = at;
        self.count += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, i16)> {
        let (mut bytes, mut at) = (self.bytes.iter().copied(), 0_u32);
        std::iter::from_fn(move || {
            let (mut gap, mut shift) = (0, 0);
            loop {
                let byte = bytes.next()?;
                gap |= u32::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            at += gap;
            Some((at, i16::from_le_bytes([bytes.next()?, bytes.next()?])))
        })
    }

    /// Removes the chunks that are not kept.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        if self.iter().all(|(at, _)| is_kept(at)) {
            return;
        }
        let mut kept = Self::default();
        self.iter().filter(|(at, _)| is_kept(*at)).for_each(|(at, weight)| kept.push(at, weight));
        *self = kept;
    }

    /// Gives each chunk another place; their order stays.
    pub(crate) fn renumber(&mut self, place: impl Fn(u32) -> u32) {
        let mut moved = Self::default();
        self.iter().for_each(|(at, weight)| moved.push(place(at), weight));
        *self = moved;
    }

    /// Gives back the room that nothing stands in.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_there_until_it_is_removed() {
        let all =
            [(0, 7), (1, 2_200), (127, -1), (128, 1), (300, 0), (70_000, i16::MAX), (u32::MAX, i16::MIN)];
        let mut postings = Postings::default();
        all.iter().for_each(|(at, weight)| postings.push(*at, *weight));
        assert_eq!((postings.iter().collect::<Vec<_>>(), postings.count()), (all.to_vec(), 7));
        postings.retain(|at| at % 2 == 0);
        postings.shrink();
        assert_eq!(postings.iter().collect::<Vec<_>>(), [(0, 7), (128, 1), (300, 0), (70_000, i16::MAX)]);
        postings.push(70_001, 3);
        assert_eq!((postings.iter().last(), postings.count()), (Some((70_001, 3)), 5));
    }
}
