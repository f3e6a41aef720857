//! Every bound of this crate, with its reason.

use std::time::Duration;

/// The largest object in a list or a watch, in bytes. A server refuses objects beyond 1.5 MiB or so; ten times that
/// leaves room for `managedFields` and for servers with a larger limit, and stops a peer that never ends a line.
pub(crate) const MAX_OBJECT: usize = 16 << 20;

/// The largest list without its items, in bytes: kind, version and a continue token, which is under 1 KiB.
pub(crate) const MAX_LIST_ENVELOPE: usize = 64 << 10;

/// Up to how many bytes it is tried at the end of a chunk whether an event of a watch is complete without the end of its line.
/// Each trial reads all of it.
pub(crate) const MAX_UNENDED: usize = 1 << 20;

/// How much of an error's body is read, in bytes. Statuses are small; what follows is a proxy's page.
pub(crate) const MAX_ERROR_BODY: usize = 64 << 10;

/// How much memory the values of a kubeconfig may take, in bytes, with every alias written out. One of a thousand clusters takes
/// 6 MiB; aliases of aliases could fill all there is from a few lines.
pub(crate) const MAX_YAML: usize = 64 << 20;

/// How many lists and objects may be within each other in a kubeconfig, so that they fit on a stack. It needs six.
pub(crate) const MAX_YAML_DEPTH: usize = 64;

/// How long a connection may take to be made, as in client-go.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a read waits for the beginning of its answer. A server gives up itself after a minute; a connection that is dead
/// without a word would be waited for for ever.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);

/// The interval of TCP keep-alive probes, as in client-go.
pub(crate) const TCP_KEEP_ALIVE: Duration = Duration::from_secs(30);

/// How often a request is sent again, as in client-go.
pub(crate) const RETRIES: u32 = 10;

/// How long a read waits after its connection broke before it is sent again, as in client-go.
pub(crate) const RECONNECT_DELAY: Duration = Duration::from_secs(1);
