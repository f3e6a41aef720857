//! Where an object or array ends, without a look at its parts.
//!
//! Blocks of 64 bytes are looked at as sets of bits: which bytes are quotes, which are within strings, which open and which close.
//! Only in a block that may close more than is open it matters in which order they do.

use super::marks::{BLOCK, Marks};

/// Where the object or array that begins at `start` ends: after its last byte. None if it does not, or holds a string with a
/// control character.
pub(super) fn nested_end(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = bytes.get(start..)?;
    let (blocks, tail) = rest.as_chunks::<BLOCK>();
    let mut last = [b' '; BLOCK];
    last[..tail.len()].copy_from_slice(tail);

    let mut depth = 0;
    // All bits set if the block before ended within a string; the lowest bit set if it ended with a backslash that counts.
    let (mut within, mut escaped) = (0u64, 0u64);
    for (nth, block) in blocks.iter().chain([&last]).enumerate() {
        let marks = Marks::of(block);
        let quotes = marks.quotes & !escapes(marks.slashes, &mut escaped);
        let strings = parity(quotes) ^ within;
        within = ((strings as i64) >> 63) as u64;
        if marks.controls & strings != 0 {
            return None;
        }
        let (opens, closes) = (marks.opens & !strings, marks.closes & !strings);
        if let Some(end) = last_close(depth, opens, closes) {
            return Some(start + BLOCK * nth + end);
        }
        depth = depth + opens.count_ones() - closes.count_ones();
    }
    None
}

/// Where the last open bracket is closed: after that byte.
fn last_close(depth: u32, opens: u64, mut closes: u64) -> Option<usize> {
    if depth > closes.count_ones() {
        return None;
    }
    let mut closed = 0;
    while closes != 0 {
        let at = closes.trailing_zeros();
        let opened = (opens & ((1 << at) - 1)).count_ones();
        closed += 1;
        if depth + opened <= closed {
            return Some(at as usize + 1);
        }
        closes &= closes - 1;
    }
    None
}

/// The bytes after a backslash that is not itself after one. `carry` is the lowest bit if the next block begins with one.
fn escapes(mut slashes: u64, carry: &mut u64) -> u64 {
    let mut escaped = std::mem::take(carry);
    slashes &= !escaped;
    while slashes != 0 {
        let slash = slashes & slashes.wrapping_neg();
        let next = slash << 1;
        *carry = u64::from(next == 0);
        escaped |= next;
        slashes &= !(slash | next);
    }
    escaped
}

/// For each bit, whether an odd number of bits up to it are set: from each quote up to the next.
fn parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::nested_end;

    /// Where each text ends, wherever it lies in its block.
    #[track_caller]
    fn check(text: &str) {
        for before in 0..130 {
            let padded = format!("{}{text},]}}\"", " ".repeat(before));
            assert_eq!(
                nested_end(padded.as_bytes(), before),
                Some(before + text.len()),
                "{text} after {before}"
            );
            for cut in before..before + text.len() {
                assert_eq!(nested_end(&padded.as_bytes()[..cut], before), None, "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn it_ends_with_the_bracket_that_was_opened_first() {
        check("{}");
        check("[]");
        check(r#"{"a":[1,{"b":"]}"}],"c":{}}"#);
        check(r#"[["\\","\"]","\\\"]",""],"x\\"]"#);
        check(&format!("{}{}", "[".repeat(100), "]".repeat(100)));
        check(&format!(r#"{{"{}":"{}"}}"#, "k]".repeat(50), r#"\""#.repeat(70)));
    }

    #[test]
    fn a_control_character_in_a_string_is_not_passed_over() {
        assert_eq!(nested_end(b"[\n\"a\nb\"]", 0), None);
        assert_eq!(nested_end(b"[\n\"ab\"\n]", 0), Some(8));
    }
}
