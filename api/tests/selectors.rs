//! Behaviour of selectors beyond the recorded answers.

#![allow(clippy::unwrap_used)] // helpers of tests count as tests

use std::collections::BTreeMap;

use lariat_api::fields;
use lariat_api::labels::{
    self, KeyError, LabelSelector, LabelSelectorError, LabelSelectorOperator, Operator, ParseError,
    Requirement, RequirementError, Selector, ValueError, format_label_selector, validate_key, validate_value,
};
use serde_json::json;

/// Parses `text` and compares its canonical form; `Err` is any refusal.
#[track_caller]
fn check_label(text: &str, expect: Result<&str, ()>) {
    let printed = text.parse::<Selector>().map(|selector| selector.to_string());
    assert_eq!(printed.as_deref().map_err(|_| ()), expect, "{text:?}: {printed:?}");
}

#[track_caller]
fn check_field(text: &str, expect: Result<&str, ()>) {
    let printed = text.parse::<fields::Selector>().map(|selector| selector.to_string());
    assert_eq!(printed.as_deref().map_err(|_| ()), expect, "{text:?}: {printed:?}");
}

fn object(value: serde_json::Value) -> LabelSelector {
    serde_json::from_value(value).unwrap()
}

// === label selectors: text ===

#[test]
fn keywords_serve_as_keys_and_values() {
    check_label("in", Ok("in"));
    check_label("!notin", Ok("!notin"));
    check_label("notin notin (in,notin)", Ok("notin notin (in,notin)"));
    check_label("in=in", Ok("in=in"));
    check_label("a in in", Err(()));
    check_label("a IN (b)", Err(()));
}

#[test]
fn only_four_characters_are_whitespace() {
    check_label("\r\na\t in \n( b )\r", Ok("a in (b)"));
    for other in ['\u{b}', '\u{c}', '\u{a0}', '\u{2003}', '\u{feff}'] {
        check_label(&format!("a{other}=b"), Err(()));
        check_label(&format!("a=b{other}"), Err(()));
    }
}

#[test]
fn symbols_are_read_greedily() {
    check_label("a!=b", Ok("a!=b"));
    check_label("a! =b", Err(()));
    check_label("a= =b", Err(()));
    check_label("a=!b", Err(()));
    check_label("a>=1", Err(()));
    check_label("a<>1", Err(()));
    check_label("a in(b)", Ok("a in (b)"));
    check_label("ain(b)", Err(()));
}

#[test]
fn lists_take_empty_values_but_do_not_end_behind_two_commas() {
    check_label("a in (b,,c)", Ok("a in (,b,c)"));
    check_label("a in (,,c)", Ok("a in (,c)"));
    check_label("a in (,c)", Ok("a in (,c)"));
    check_label("a in (,,,)", Ok("a in ()"));
    check_label("a in (b,,)", Err(()));
    check_label("a in (,,)", Err(()));
    check_label("a in (b c)", Err(()));
    check_label("a in (b,(c))", Err(()));
    check_label("a in (b=c)", Err(()));
    check_label("a in (", Err(()));
    check_label("a in (b,", Err(()));
}

#[test]
fn repeated_values_of_a_list_are_one() {
    let selector: Selector = "a in (b, c, b)".parse().unwrap();
    assert_eq!(selector.requirements().unwrap()[0].values(), ["b", "c"]);
}

#[test]
fn requirements_sort_by_key_in_bytes_and_keep_their_order_within_one() {
    check_label("b,a=2,B,a=1,!a,a.b,a-b", Ok("B,a=2,a=1,!a,a-b,a.b,b"));
    let many: Vec<String> = (0..40).rev().flat_map(|n| [format!("a!={n}"), format!("k{n:02}")]).collect();
    let printed = many.join(",").parse::<Selector>().unwrap().to_string();
    let same_key: Vec<&str> = printed.split(',').filter(|r| r.starts_with("a!")).collect();
    assert_eq!(same_key, many.iter().filter(|r| r.starts_with("a!")).collect::<Vec<_>>());
}

#[test]
fn a_nul_reads_as_on_a_server() {
    check_label("\0=!garbage", Ok(""));
    check_label("a=b \0,!(", Ok("a=b"));
    check_label("a\0,\0b=\0c\0", Ok("a,b=c"));
    check_label("a\0b", Err(()));
    check_label("a\0\0b", Ok("a"));
}

#[test]
fn errors_say_where_and_what() {
    let error = |text: &str| text.parse::<Selector>().unwrap_err();
    let unexpected = |at, found: &str, expected| ParseError::Unexpected { at, found: found.into(), expected };

    assert_eq!(error("a in b"), unexpected(5, "\"b\"", "'('"));
    assert_eq!(error("a=b,"), unexpected(4, "the end", "a label key or '!'"));
    assert_eq!(
        error("a,  size > 5.5").to_string(),
        "at byte 4: label \"size\": '>' and '<' compare with an integer of 64 bits, not with \"5.5\""
    );
    let ParseError::Requirement { at: 0, reason: RequirementError::Value { value, reason, .. } } =
        error("a=-b")
    else {
        panic!("the value is at fault");
    };
    assert_eq!((value.as_str(), reason), ("-b", ValueError::Syntax));
}

// === label selectors: syntax of keys and values ===

#[test]
fn keys_follow_the_rules_of_qualified_names() {
    let (name, prefix) = ("n".repeat(63), "p".repeat(253));
    assert_eq!(
        validate_key(&format!("{prefix}/{name}")),
        Ok(()),
        "a part of a prefix has no limit of its own"
    );
    assert_eq!(validate_key(&format!("{name}n")), Err(KeyError::NameTooLong { length: 64 }));
    assert_eq!(validate_key(&format!("{prefix}p/a")), Err(KeyError::PrefixTooLong { length: 254 }));
    for (key, reason) in [
        ("", KeyError::EmptyName),
        ("a/", KeyError::EmptyName),
        ("/", KeyError::EmptyPrefix),
        ("/a", KeyError::EmptyPrefix),
        ("a/b/c", KeyError::ManySlashes),
        ("//", KeyError::ManySlashes),
        ("_a", KeyError::NameSyntax),
        ("a.", KeyError::NameSyntax),
        ("a b", KeyError::NameSyntax),
        ("é", KeyError::NameSyntax),
        ("A.b/c", KeyError::PrefixSyntax),
        ("a_b/c", KeyError::PrefixSyntax),
        ("a..b/c", KeyError::PrefixSyntax),
        ("a./c", KeyError::PrefixSyntax),
        ("a.-b/c", KeyError::PrefixSyntax),
        ("a-.b/c", KeyError::PrefixSyntax),
    ] {
        assert_eq!(validate_key(key), Err(reason), "{key:?}");
    }
    for key in ["a", "A", "0", "a--b__c..d", "0.1-a/Z"] {
        assert_eq!(validate_key(key), Ok(()), "{key:?}");
    }
}

#[test]
fn values_follow_the_rules_of_label_values() {
    assert_eq!(validate_value(&"v".repeat(63)), Ok(()));
    assert_eq!(validate_value(&"v".repeat(64)), Err(ValueError::TooLong { length: 64 }));
    assert_eq!(validate_value(&"é".repeat(32)), Err(ValueError::TooLong { length: 64 }), "bytes count");
    for value in ["-a", "a-", ".", "_", "a/b", "a b", "a\n", "é", "+5"] {
        assert_eq!(validate_value(value), Err(ValueError::Syntax), "{value:?}");
    }
}

#[test]
fn the_number_of_values_must_fit_the_operator() {
    use Operator::{DoesNotExist, DoubleEquals, Equals, Exists, GreaterThan, In, LessThan, NotEquals, NotIn};
    let accepted = |operator, count: usize| Requirement::new("a", operator, vec!["1"; count]).is_ok();
    for (operator, expect) in [
        (Equals, [false, true, false]),
        (DoubleEquals, [false, true, false]),
        (NotEquals, [false, true, false]),
        (In, [false, true, true]),
        (NotIn, [false, true, true]),
        (Exists, [true, false, false]),
        (DoesNotExist, [true, false, false]),
        (GreaterThan, [false, true, false]),
        (LessThan, [false, true, false]),
    ] {
        assert_eq!([0, 1, 2].map(|count| accepted(operator, count)), expect, "{operator}");
    }
}

// === label selectors: matching ===

#[test]
fn a_missing_label_is_not_equal_to_anything_and_not_empty() {
    let none = BTreeMap::<String, String>::new();
    for (text, expect) in
        [("a!=", true), ("a notin ()", true), ("a=", false), ("a in ()", false), ("!a", true)]
    {
        assert_eq!(text.parse::<Selector>().unwrap().matches(&none), expect, "{text}");
    }
}

#[test]
fn bounds_compare_as_integers_of_64_bits() {
    let above: Selector = "n>0006".parse().unwrap();
    let below: Selector = "n<9223372036854775807".parse().unwrap();
    for (value, is_above, is_below) in [
        ("7", true, true),
        ("6", false, true),
        ("007", true, true),
        ("+7", true, true),
        ("-9223372036854775808", false, true),
        ("9223372036854775807", true, false),
        ("9223372036854775808", false, false),
        ("-9223372036854775809", false, false),
        ("7.0", false, false),
        ("0x7", false, false),
        ("1_000", false, false),
        (" 7", false, false),
        ("", false, false),
        ("-", false, false),
    ] {
        assert_eq!(above.matches(&[("n", value)]), is_above, "n>6 of {value:?}");
        assert_eq!(below.matches(&[("n", value)]), is_below, "n<max of {value:?}");
    }
    assert_eq!(above.to_string(), "n>0006", "printed as written");
}

#[test]
fn large_sets_find_every_member_and_no_other() {
    let members: Vec<String> = (0..500).map(|n| format!("v{}", n * 7 % 500)).collect();
    let inside = Requirement::new("a", Operator::In, &members).unwrap();
    let outside = Requirement::new("a", Operator::NotIn, &members).unwrap();
    for value in members.iter().map(String::as_str).chain(["", "v", "v500", "w", "v00"]) {
        let listed = members.iter().any(|member| member == value);
        assert_eq!(inside.matches(&[("a", value)]), listed, "{value}");
        assert_eq!(outside.matches(&[("a", value)]), !listed, "{value}");
    }
}

#[test]
fn labels_come_in_many_shapes() {
    let selector: Selector = "a=b".parse().unwrap();
    let map = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    assert!(selector.matches(&map));
    assert!(selector.matches(&Some(&map)));
    assert!(selector.matches(&Some(map)));
    assert!(!selector.matches(&None::<BTreeMap<String, String>>));
    assert!(selector.matches([("a", "b")].as_slice()));
    assert!(selector.matches(vec![("a".to_owned(), "b".to_owned())].as_slice()));
    let dynamic: &dyn labels::Labels = &[("a", "b")];
    assert!(selector.matches(dynamic));
}

// === label selectors: everything, nothing, and made in code ===

#[test]
fn everything_and_nothing_are_told_apart() {
    let (everything, nothing) = (Selector::everything(), Selector::nothing());
    assert_eq!("".parse(), Ok(everything.clone()));
    assert_eq!(Selector::default(), everything);
    assert_eq!(Selector::from_map(&BTreeMap::new()), Ok(everything.clone()));
    assert_ne!(everything, nothing);
    assert_eq!((everything.to_string(), nothing.to_string()), (String::new(), String::new()));
    assert_eq!(everything.requirements(), Some(&[][..]));

    let still_nothing = nothing.with(Requirement::exists("a").unwrap());
    assert!(still_nothing.is_nothing() && !still_nothing.matches(&[("a", "")]));
}

#[test]
fn requirements_added_in_code_are_ordered_like_parsed_ones() {
    let r = |text: &str| text.parse::<Selector>().unwrap().requirements().unwrap()[0].clone();
    let parsed: Selector = "b,a=2,c,a=1".parse().unwrap();
    let collected: Selector = [r("b"), r("a=2"), r("c"), r("a=1")].into_iter().collect();
    let added = Selector::everything().with(r("b")).with(r("a=2")).with(r("c")).with(r("a=1"));
    assert_eq!(collected, parsed);
    assert_eq!(added, parsed);
}

#[test]
fn a_map_with_a_malformed_label_is_refused() {
    let map = BTreeMap::from([("a".to_owned(), "not a value".to_owned())]);
    assert!(matches!(Selector::from_map(&map), Err(RequirementError::Value { .. })));
}

// === label selector objects ===

#[test]
fn nulls_and_missing_fields_of_an_object_are_empty() {
    let parsed = object(json!({"matchLabels": null, "matchExpressions": null}));
    assert_eq!(parsed, LabelSelector::default());
    assert_eq!(serde_json::to_value(&parsed).unwrap(), json!({}));

    let parsed = object(json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": null}]}));
    assert_eq!(Selector::try_from(&parsed).unwrap().to_string(), "a");

    let parsed = object(json!({"matchExpressions": [{"key": "a"}]}));
    assert_eq!(parsed.match_expressions[0].operator, LabelSelectorOperator::Other(String::new()));
    assert_eq!(format_label_selector(Some(&parsed)), "<error>");
}

#[test]
fn an_unknown_operator_survives_and_is_reported() {
    let written = json!({"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]});
    let parsed = object(written.clone());
    assert_eq!(serde_json::to_value(&parsed).unwrap(), written);
    let error = LabelSelectorError::UnknownOperator { key: "a".into(), operator: "in".into() };
    assert_eq!(Selector::try_from(&parsed), Err(error.clone()));
    assert_eq!(parsed.as_map(), Err(error));
}

#[test]
fn a_pair_in_an_expression_wins_in_the_map() {
    let parsed = object(json!({
        "matchLabels": {"a": "1", "b": "2"},
        "matchExpressions": [{"key": "a", "operator": "In", "values": ["3"]}],
    }));
    let map = BTreeMap::from([("a".to_owned(), "3".to_owned()), ("b".to_owned(), "2".to_owned())]);
    assert_eq!(parsed.as_map(), Ok(map));
    assert_eq!(format_label_selector(Some(&parsed)), "a=1,a in (3),b=2");
}

#[test]
fn values_with_an_operator_that_takes_none_are_refused() {
    for operator in ["Exists", "DoesNotExist"] {
        let parsed =
            object(json!({"matchExpressions": [{"key": "a", "operator": operator, "values": [""]}]}));
        let error = Selector::try_from(&parsed).unwrap_err();
        assert!(matches!(error, LabelSelectorError::Requirement(RequirementError::SuperfluousValues { .. })));
    }
}

// === field selectors ===

#[test]
fn field_terms_without_name_and_value_vanish() {
    for text in ["", ",", "=", "==", "!=", ",,=,!=,=="] {
        check_field(text, Ok(""));
        assert!(text.parse::<fields::Selector>().unwrap().is_empty(), "{text:?}");
    }
    check_field("=,a=b", Ok("a=b"));
    check_field("a=,=b", Ok("=b,a="));
}

#[test]
fn a_missing_field_is_an_empty_one() {
    for (text, expect) in [("a=", true), ("a!=", false), ("a=b", false), ("a!=b", true)] {
        let selector: fields::Selector = text.parse().unwrap();
        assert_eq!(selector.matches(&BTreeMap::<String, String>::new()), expect, "{text}");
        assert_eq!(selector.matches(&[("a", "")]), expect, "{text}");
    }
}

#[test]
fn field_operators_are_found_from_the_left() {
    check_field("a!!=b", Ok("a!!=b"));
    check_field("a!==b", Err(()));
    check_field("a=!=b", Err(()));
    check_field("a!b=c", Ok("a!b=c"));
    check_field("a\\=b", Ok("a\\=b"));
    check_field("é=ü", Ok("é=ü"));
}

#[test]
fn field_terms_sort_as_written() {
    check_field("b=1,a=b,a==z", Ok("a=z,a=b,b=1"));
    check_field("a=c,a!=c", Ok("a!=c,a=c"));
}

#[test]
fn field_escapes_hide_commas_of_names_and_values() {
    check_field("a=\\\\,b=c", Ok("a=\\\\,b=c"));
    check_field("a=\\\\\\,b=c", Err(()));
    check_field("a\\,b=\\=", Ok("a\\,b=\\="));
    check_field("a=\\é", Err(()));
}

#[test]
fn field_errors_say_where_and_what() {
    use fields::Error;
    let error = |text: &str| text.parse::<fields::Selector>().unwrap_err();
    assert_eq!(error("a=b,c"), Error::NoOperator { at: 4, term: "c".into() });
    assert_eq!(error("x=1,a=b=c"), Error::Unescaped { at: 7, character: '=' });
    assert_eq!(error("x=1,a=é\\ü"), Error::Escape { at: 8, sequence: "\\ü".into() });
    assert_eq!(error("a=\\"), Error::Escape { at: 2, sequence: "\\".into() });
}

#[test]
fn field_selectors_made_in_code_can_be_sent() {
    let selector = fields::Selector::equals("metadata.name", "a,b=\\c").unwrap();
    let sent = selector.and(fields::Selector::not_equals("status.phase", "").unwrap());
    assert_eq!(sent.to_string().parse(), Ok(sent.clone()));
    assert!(sent.matches(&[("metadata.name", "a,b=\\c"), ("status.phase", "Running")]));
    assert_eq!(sent.exact("metadata.name"), Some("a,b=\\c"));
    for field in ["", "a=b", "a,b", "a!", "a\\"] {
        assert!(fields::Selector::equals(field, "x").is_err(), "{field:?}");
    }
}

#[test]
fn escaping_is_undone_by_unescaping() {
    for text in ["", "plain", "\\", ",=\\", "é,ü=\\\\", "\\,"] {
        assert_eq!(fields::unescape(&fields::escape(text)).unwrap(), text);
    }
}

// === junk ===

/// A xorshift generator: enough to make junk, and the same junk every time.
struct Junk(u64);

impl Junk {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn text(&mut self, pieces: &[&str], longest: usize) -> String {
        (0..self.below(longest + 1)).map(|_| pieces[self.below(pieces.len())]).collect()
    }
}

const LABEL_PIECES: &[&str] = &[
    "a", "b", "in", "notin", " in (", " notin (", ")", "(", ",", ",", "=", "==", "!=", "!", ">", "<", "5",
    "-3", " ", "\t", "\n", "\0", "x.y/", "/", "é", "\u{2003}", "_", ".", "a=b,", "n>1",
];

const FIELD_PIECES: &[&str] = &[
    "a",
    "b",
    "metadata.name",
    "=",
    "==",
    "!=",
    "!",
    ",",
    ",",
    "\\",
    "\\,",
    "\\=",
    "\\\\",
    " ",
    "é",
    "\0",
    "a=b,",
];

#[test]
fn junk_label_selectors_never_panic_and_print_stably() {
    let mut junk = Junk(0x9e37_79b9_7f4a_7c15);
    let mut accepted = 0;
    for _ in 0..200_000 {
        let text = junk.text(LABEL_PIECES, 9);
        let Ok(selector) = text.parse::<Selector>() else { continue };
        accepted += 1;
        let printed = selector.to_string();
        assert_eq!(printed.parse(), Ok(selector.clone()), "{text:?} prints as {printed:?}");
        for labels in [&[("a", "b")][..], &[("in", "5"), ("x.y/a", "")], &[]] {
            let each = selector.requirements().unwrap().iter().all(|r| r.matches(labels));
            assert_eq!(selector.matches(labels), each, "{text:?}");
        }
    }
    assert!(accepted > 10_000, "the junk must not be all refused: {accepted}");
}

#[test]
fn junk_field_selectors_never_panic_and_print_stably() {
    // Terms are sorted as written and `==` prints as `=`, so only the order may change when the text is read again.
    let sorted = |selector: &fields::Selector| {
        let mut terms: Vec<String> = selector.requirements().iter().map(ToString::to_string).collect();
        terms.sort();
        terms
    };
    let mut junk = Junk(0x2545_f491_4f6c_dd1d);
    let mut accepted = 0;
    for _ in 0..200_000 {
        let text = junk.text(FIELD_PIECES, 9);
        let Ok(selector) = text.parse::<fields::Selector>() else { continue };
        accepted += 1;
        let printed = selector.to_string();
        let again: fields::Selector = printed.parse().unwrap();
        assert_eq!(sorted(&again), sorted(&selector), "{text:?} prints as {printed:?}");
        let third: fields::Selector = again.to_string().parse().unwrap();
        assert_eq!(third, again, "{text:?}: the second print is final");
    }
    assert!(accepted > 10_000, "the junk must not be all refused: {accepted}");
}
