//! Where a string ends.

/// The first byte from `at` on that is no plain part of a string: a quote, a backslash or a control character.
pub(super) fn plain_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let (words, tail) = rest.as_chunks::<8>();
    for (nth, word) in words.iter().enumerate() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(at + 8 * nth + marks.trailing_zeros() as usize / 8);
        }
    }
    let tail_at = at + 8 * words.len();
    tail.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..0x20)).map(|nth| tail_at + nth)
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// The highest bit of the first byte that ends a plain part, and maybe of bytes after it.
///
/// A subtraction borrows from the byte above only where the byte below is marked already, so the lowest mark is right.
fn marks(word: u64) -> u64 {
    let quote = word ^ (ONES * u64::from(b'"'));
    let slash = word ^ (ONES * u64::from(b'\\'));
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    (below(word, 0x20) | below(quote, 1) | below(slash, 1)) & (ONES * 0x80)
}
