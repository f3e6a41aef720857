//! JSON of any shape, as text, and damage to it.

#![allow(dead_code, clippy::panic, unreachable_pub)] // not every test needs all; a test fails by panicking

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Runs `check` on so many values, the same ones each time.
pub fn check_all<S: Strategy>(cases: u32, strategy: &S, check: impl Fn(S::Value) -> Result<(), String>) {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let randomness = TestRng::from_seed(RngAlgorithm::ChaCha, &[1; 32]);
    let outcome = TestRunner::new_with_rng(config, randomness)
        .run(strategy, |value| check(value).map_err(TestCaseError::fail));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

pub fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 1 => select(vec![" ", "\n", "\t", "\r\n", "  \n "])]
}

pub fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        select(vec![
            "items",
            "a",
            "\\\"",
            "\\\\",
            "\\/",
            "\\n",
            "\\u0041",
            "\\u00e9",
            "\\ud83d\\ude00",
            "ü",
            "€",
            "😀",
            "]",
            "}",
            "[",
            "{",
            ",",
            ":",
            "\u{7f}",
            "\u{2028}",
            " ",
        ])
        .prop_map(str::to_owned),
        "[ !#-\\[\\]-~]".prop_map(|text| text),
    ];
    vec(piece, 0..5).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

pub fn key() -> impl Strategy<Value = String> {
    let known = ["items", "\\u0069tems", "itemS", "metadata", "kind", "apiVersion", "a"];
    prop_oneof![3 => select(known.to_vec()).prop_map(|key| format!("\"{key}\"")), 1 => string()]
}

pub fn value() -> impl Strategy<Value = String> {
    let number = select(vec![
        "0",
        "-0",
        "7",
        "-1",
        "1.5",
        "1e5",
        "1E+5",
        "-1.25e-3",
        "18446744073709551616",
        "1e400",
        "0.1",
        "123456789012345678901234567890",
    ]);
    let leaf = prop_oneof![
        select(vec!["null", "true", "false", "[]", "{}"]).prop_map(str::to_owned),
        number.prop_map(str::to_owned),
        string(),
    ];
    leaf.prop_recursive(5, 24, 4, |inner| {
        let element = (space(), inner.clone(), space()).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        let member = (space(), key(), space(), space(), inner, space())
            .prop_map(|(a, key, b, c, value, d)| format!("{a}{key}{b}:{c}{value}{d}"));
        prop_oneof![
            vec(element, 0..4).prop_map(|elements| format!("[{}]", elements.join(","))),
            vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

/// What is done to a document: a byte changed, removed, doubled, or all from there cut off.
pub fn damage() -> impl Strategy<Value = Vec<(usize, u8, u8)>> {
    vec((any::<usize>(), 0..4_u8, prop_oneof![select(br#"{}[]",:\n1 u"#.to_vec()), any::<u8>()]), 1..4)
}

pub fn damaged(text: String, damage: &[(usize, u8, u8)]) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    for (at, how, byte) in damage {
        if bytes.is_empty() {
            break;
        }
        let at = at % bytes.len();
        match how {
            0 => bytes[at] = *byte,
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, *byte),
            _ => bytes.truncate(at),
        }
    }
    bytes
}
