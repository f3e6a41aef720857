use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Which of the controllers in a program run, as its command line says: `--controllers=fleet,-autoscaler`.
///
/// A list, separated by commas: a name is one that runs, `-name` one that does not, `*` all that are not named. If only such are
/// named that do not run, all others do. What is named later counts.
///
/// # Example
///
/// ```
/// use lariat::Selection;
///
/// let selection: Selection = "*,-autoscaler".parse()?;
/// assert!(selection.selects("fleet") && !selection.selects("autoscaler"));
/// let selection: Selection = "fleet".parse()?;
/// assert!(selection.selects("fleet") && !selection.selects("autoscaler"));
/// assert!("fleet,,".parse::<Selection>().is_err());
/// # Ok::<(), lariat::InvalidSelection>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    on: BTreeSet<String>,
    off: BTreeSet<String>,
    rest: bool,
}

/// A text that selects no controllers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: item {position} is no controller: want names, -names and *, separated by commas")]
pub struct InvalidSelection {
    /// The text.
    pub text: String,
    /// Which of its items is wrong, from 1.
    pub position: usize,
}

impl Selection {
    /// All controllers.
    pub fn all() -> Self {
        Self { on: BTreeSet::new(), off: BTreeSet::new(), rest: true }
    }

    /// Whether a controller runs.
    pub fn selects(&self, name: &str) -> bool {
        self.on.contains(name) || self.rest && !self.off.contains(name)
    }

    /// The names in it that are none of these.
    pub(crate) fn unknown<'a>(&'a self, known: &BTreeSet<String>) -> Vec<&'a str> {
        let named = self.on.iter().chain(&self.off);
        named.filter(|name| !known.contains(*name)).map(String::as_str).collect()
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self::all()
    }
}

impl FromStr for Selection {
    type Err = InvalidSelection;

    fn from_str(text: &str) -> Result<Self, InvalidSelection> {
        let mut selection = Self { on: BTreeSet::new(), off: BTreeSet::new(), rest: false };
        for (at, item) in text.split(',').map(str::trim).enumerate() {
            let (name, is_on) = item.strip_prefix('-').map_or((item, true), |name| (name, false));
            if name.is_empty() || name.starts_with('-') || name == "*" && !is_on {
                return Err(InvalidSelection { text: text.to_owned(), position: at + 1 });
            }
            if name == "*" {
                selection.rest = true;
                continue;
            }
            let (into, from) = if is_on {
                (&mut selection.on, &mut selection.off)
            } else {
                (&mut selection.off, &mut selection.on)
            };
            from.remove(name);
            into.insert(name.to_owned());
        }
        selection.rest |= selection.on.is_empty();
        Ok(selection)
    }
}

impl Display for Selection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rest = self.rest.then(|| "*".to_owned());
        let off = self.off.iter().map(|name| format!("-{name}"));
        let items: Vec<String> = rest.into_iter().chain(self.on.iter().cloned()).chain(off).collect();
        f.write_str(&items.join(","))
    }
}
