//! Which bytes of a block are brackets, quotes and the like.

pub(super) const BLOCK: usize = 64;

/// Which bytes of a block are what, the first one in the lowest bit.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Marks {
    pub(super) quotes: u64,
    pub(super) slashes: u64,
    pub(super) opens: u64,
    pub(super) closes: u64,
    pub(super) controls: u64,
}

impl Marks {
    #[inline]
    pub(super) fn of(block: &[u8; BLOCK]) -> Self {
        #[cfg(target_arch = "x86_64")]
        return sse::marks(block);
        #[cfg(not(target_arch = "x86_64"))]
        return any::marks(block);
    }
}

/// As every x86-64 can. The crate that knows all processors takes long to build.
#[cfg(target_arch = "x86_64")]
mod sse {
    use safe_arch::{cmp_eq_mask_i8_m128i, m128i, min_u8_m128i, move_mask_i8_m128i, set_splat_i8_m128i};

    use super::{BLOCK, Marks};

    #[inline]
    pub(super) fn marks(block: &[u8; BLOCK]) -> Marks {
        let mut marks = Marks::default();
        for (nth, bytes) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = m128i::from(*bytes);
            let bits = |one, other| {
                u64::from(move_mask_i8_m128i(cmp_eq_mask_i8_m128i(one, other)) as u32) << (16 * nth)
            };
            // Brackets and braces differ in one bit.
            let brackets = bytes | splat(0x20);
            marks.quotes |= bits(bytes, splat(b'"'));
            marks.slashes |= bits(bytes, splat(b'\\'));
            marks.opens |= bits(brackets, splat(b'{'));
            marks.closes |= bits(brackets, splat(b'}'));
            marks.controls |= bits(bytes, min_u8_m128i(bytes, splat(0x1f)));
        }
        marks
    }

    #[inline]
    fn splat(byte: u8) -> m128i {
        set_splat_i8_m128i(byte as i8)
    }
}

/// As any processor can.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod any {
    use wide::u8x16;

    use super::{BLOCK, Marks};

    #[inline]
    pub(super) fn marks(block: &[u8; BLOCK]) -> Marks {
        let mut marks = Marks::default();
        for (nth, bytes) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = u8x16::new(*bytes);
            let bits = |set: u8x16| u64::from(set.to_bitmask()) << (16 * nth);
            let brackets = bytes | u8x16::splat(0x20);
            marks.quotes |= bits(bytes.simd_eq(u8x16::splat(b'"')));
            marks.slashes |= bits(bytes.simd_eq(u8x16::splat(b'\\')));
            marks.opens |= bits(brackets.simd_eq(u8x16::splat(b'{')));
            marks.closes |= bits(brackets.simd_eq(u8x16::splat(b'}')));
            marks.controls |= bits(bytes.simd_eq(bytes.min(u8x16::splat(0x1f))));
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Marks, any};
    use crate::Randomness;

    /// The same, one byte at a time.
    fn expected(block: &[u8; BLOCK]) -> Marks {
        let set =
            |is: fn(u8) -> bool| (0..BLOCK).filter(|at| is(block[*at])).fold(0, |set, at| set | 1 << at);
        Marks {
            quotes: set(|byte| byte == b'"'),
            slashes: set(|byte| byte == b'\\'),
            opens: set(|byte| matches!(byte, b'{' | b'[')),
            closes: set(|byte| matches!(byte, b'}' | b']')),
            controls: set(|byte| byte < 0x20),
        }
    }

    #[test]
    fn every_byte_is_known_at_every_place_whatever_its_neighbours() {
        let random = Randomness::seeded(1);
        for byte in 0..=u8::MAX {
            for at in 0..BLOCK {
                let mut block = [0; BLOCK].map(|_: u8| random.below(256) as u8);
                block[at] = byte;
                let expected = expected(&block);
                assert_eq!(Marks::of(&block), expected, "{block:?}");
                assert_eq!(any::marks(&block), expected, "{block:?}");
            }
        }
    }
}
