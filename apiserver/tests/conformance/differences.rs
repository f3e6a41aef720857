//! What is answered otherwise than by the real server, one by one.

pub(crate) struct Known {
    pub(crate) recording: &'static str,
    /// The number of the exchange, from 1.
    pub(crate) exchange: usize,
    #[allow(dead_code, reason = "for who reads this")]
    pub(crate) why: &'static str,
}

pub(crate) const DIFFERENCES: &[Known] = &[];
