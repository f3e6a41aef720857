//! What differs from run to run, and so is not compared.

use std::sync::LazyLock;

use regex::Regex;

use crate::transcript::Transcript;

/// What is replaced, by what.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let masks = [
        // uids
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
        // times of this run: those of the script are of 2024
        (r#"\b20(2[5-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"#, "TIME"),
        (r"\b20(2[5-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4}( UTC)?", "TIME"),
        (r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20(2[5-9]|[3-9]\d) \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        // resource versions
        (r#"(?i)\b(resource ?version"?: +"?)\d+"#, "${1}VERSION"),
        // addresses of the server
        (r"\b(127\.0\.0\.1|localhost):\d+", "SERVER"),
        // versions of client and server
        (r"\b(Client|Server|Kustomize) Version: .*", "${1} Version: VERSION"),
        // folders of `kubectl diff`
        (r"\S*/(LIVE|MERGED)-\d+", "${1}"),
        // ages
        (r"(^|[\s(])(\d+y(\d+d)?|\d+d(\d+h)?|\d+h(\d+m)?|\d{1,2}m(\d+s)?|\d+s)([\s),]|$)", "${1}AGE${7}"),
    ];
    masks.into_iter().map(|(pattern, by)| (Regex::new(pattern).unwrap(), by)).collect()
});

/// The spaces between columns, which are as wide as what is masked.
static GAPS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\s*\t\s*| {2,}").unwrap());

pub(crate) fn line(line: &str) -> String {
    let mut line = line.trim_end().to_owned();
    for (pattern, by) in &*MASKS {
        // An age that follows another shares the space with it.
        for _ in 0..2 {
            line = pattern.replace_all(&line, *by).into_owned();
        }
    }
    let text = line.trim_start();
    let indent = line.get(..line.len() - text.len()).unwrap_or_default();
    format!("{indent}{}", GAPS.replace_all(text, "  "))
}

/// Descriptions of fields, which ours says in its own words or not at all: of `kubectl explain` the indented sentences.
pub(crate) fn without_descriptions(text: &str) -> String {
    let is_field = |line: &str| line.contains("\t<") || line.trim_start().starts_with("enum: ");
    let lines = text.lines().filter(|line| !line.is_empty() && (!line.starts_with("    ") || is_field(line)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Nothing may be left that only this run could have printed.
pub(crate) fn check(transcript: &Transcript) {
    let text = transcript.to_string();
    for place in [env!("CARGO_MANIFEST_DIR").into(), std::env::temp_dir().display().to_string()] {
        assert!(!text.contains(&place), "a path of this machine is in what kubectl printed: {place}");
    }
}
