//! A work queue after client-go's.

#![forbid(unsafe_code)]
