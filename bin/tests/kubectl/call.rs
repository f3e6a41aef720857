//! Running kubectl.

use std::io::{BufRead as _, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    /// Where it keeps its cache, so that it asks the server for all it needs.
    home: PathBuf,
}

/// What a call printed.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    pub(crate) out: String,
    pub(crate) err: String,
    /// None if it was ended from outside.
    pub(crate) code: Option<i32>,
}

/// A call that has not ended.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    so_far: Vec<String>,
    err: thread::JoinHandle<String>,
}

/// No call takes longer, unless something hangs.
const LIMIT: Duration = Duration::from_secs(60);

impl Kubectl {
    pub(crate) fn new(program: PathBuf, kubeconfig: PathBuf, home: PathBuf) -> Self {
        Self { program, kubeconfig, home }
    }

    /// Runs a call to its end.
    pub(crate) fn call(&self, arguments: &[impl AsRef<str>]) -> Printed {
        self.start(arguments).end()
    }

    /// Runs a call that has to succeed; what it printed.
    pub(crate) fn must(&self, arguments: &[impl AsRef<str>]) -> String {
        let printed = self.call(arguments);
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        assert_eq!(printed.code, Some(0), "kubectl {}: {}", arguments.join(" "), printed.err);
        printed.out
    }

    /// Begins a call.
    pub(crate) fn start(&self, arguments: &[impl AsRef<str>]) -> Running {
        let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kubectl/manifests");
        let mut command = Command::new(&self.program);
        command.args(arguments.iter().map(AsRef::as_ref)).current_dir(manifests);
        command.env("KUBECONFIG", &self.kubeconfig).env("HOME", &self.home).env("TZ", "UTC");
        for variable in ["KUBECTL_EXTERNAL_DIFF", "KUBECACHEDIR", "KUBECTL_KUBERC"] {
            command.env_remove(variable);
        }
        command.env("KUBE_EDITOR", "sed -i s/cave/grotto/");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let (out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let err = thread::spawn(move || {
            let mut text = String::new();
            let _ = err.read_to_string(&mut text);
            text
        });
        Running { child, lines, so_far: Vec::new(), err }
    }
}

impl Running {
    /// Waits until it has printed so many lines in all.
    pub(crate) fn wait_for(&mut self, lines: usize) {
        while self.so_far.len() < lines {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => self.so_far.push(line),
                Err(error) => {
                    let _ = self.child.kill();
                    panic!("{lines} lines were awaited, but {error} after:\n{}", self.so_far.join("\n"));
                }
            }
        }
    }

    /// Ends it.
    pub(crate) fn stop(mut self) -> Printed {
        let _ = self.child.kill();
        let _ = self.child.wait();
        Printed { code: None, ..self.printed(None) }
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Printed {
        loop {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => self.so_far.push(line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    panic!("a call does not end; it printed:\n{}", self.so_far.join("\n"));
                }
            }
        }
        let status = self.child.wait().unwrap();
        self.printed(Some(status))
    }

    fn printed(self, status: Option<ExitStatus>) -> Printed {
        let err = self.err.join().unwrap();
        Printed { out: self.so_far.join("\n"), err, code: status.and_then(|status| status.code()) }
    }
}
