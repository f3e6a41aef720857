//! Base64 with padding, as secrets hold their data.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let padded = chunk.iter().chain(&[0, 0]).take(3);
        let group = padded.fold(0_u32, |group, byte| group << 8 | u32::from(*byte));
        for place in 0..4 {
            let index = usize::try_from(group >> (18 - 6 * place) & 63).unwrap_or_default();
            let filled = place <= chunk.len();
            text.push(if filled { ALPHABET.get(index).copied().map_or('=', char::from) } else { '=' });
        }
    }
    text
}

/// The bytes, or the place of the first byte that does not belong there. Line breaks are skipped.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut group: u32 = 0;
    let mut digits: u32 = 0;
    let mut padding: u32 = 0;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'\r' | b'\n' => continue,
            b'=' if digits >= 2 && digits + padding < 4 => padding += 1,
            _ if padding > 0 => return Err(place),
            _ => {
                let digit = ALPHABET.iter().position(|known| *known == byte).ok_or(place)?;
                group = group << 6 | u32::try_from(digit).unwrap_or_default();
                digits += 1;
                if digits == 4 {
                    bytes.extend_from_slice(group.to_be_bytes().get(1..).unwrap_or_default());
                    (group, digits) = (0, 0);
                }
            }
        }
    }
    match digits {
        0 => Ok(bytes),
        _ if digits + padding != 4 => Err(text.len()),
        _ => {
            let whole = (group << (6 * (4 - digits))).to_be_bytes();
            bytes.extend(whole.into_iter().skip(1).take(usize::try_from(digits - 1).unwrap_or_default()));
            Ok(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn base64_goes_both_ways() {
        for (plain, coded) in
            [("", ""), ("b", "Yg=="), ("bc", "YmM="), ("bcd", "YmNk"), ("bcde", "YmNkZQ=="), ("x", "eA==")]
        {
            assert_eq!(encode(plain.as_bytes()), coded);
            assert_eq!(decode(coded).as_deref(), Ok(plain.as_bytes()));
        }
        assert_eq!(decode("YmNk\nZQ==").as_deref(), Ok(&b"bcde"[..]));
    }

    #[test]
    fn what_is_not_base64_is_named_by_its_place() {
        assert_eq!(decode("!!"), Err(0));
        assert_eq!(decode("eA=!"), Err(3));
        assert_eq!(decode("eA==eA=="), Err(4));
        assert_eq!(decode("eA="), Err(3));
        assert_eq!(decode("=A=="), Err(0));
    }
}
