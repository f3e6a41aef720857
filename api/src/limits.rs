//! Every bound of this crate, with its reason.

/// How many parts the table of [`Interned`](crate::Interned) values has, so that threads that decode do not wait for each other.
pub(crate) const INTERNED_PARTS: usize = 16;

/// How many values a part remembers: together 4,096. A cluster has some hundred templates, owners and sets of labels; a
/// thousand host ports.
pub(crate) const INTERNED_IN_PART: usize = 256;

/// How many hashes of texts that came once a part remembers. A text that comes again while some thousand others came is
/// taken in.
pub(crate) const INTERNED_SEEN: usize = 256;

/// The longest text that is interned, in bytes: a pod template with several containers. Longer ones are as good as unique. With
/// [`INTERNED_PARTS`] and [`INTERNED_IN_PART`], all texts together have no more than 64 MiB, and some hundred KiB as a rule.
pub(crate) const MAX_INTERNED_TEXT: usize = 16 << 10;
