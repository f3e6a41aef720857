//! The programs that are tested.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::{sleep, timeout};

/// A process, killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    log: Option<PathBuf>,
}

/// How long one may take to end when it is told to.
const END: Duration = Duration::from_secs(40);

pub(crate) fn lariat() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lariat"));
    command.env_remove("RUST_LOG").env_remove("KUBECONFIG");
    command
}

/// What a command prints that is given an input.
pub(crate) fn output(command: &mut Command, input: &str) -> String {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{command:?}: {}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

impl Process {
    /// A command of lariat that works on an API server, with a log of this name.
    pub(crate) fn start(
        command: &str,
        kubeconfig: &Path,
        arguments: &[&str],
        (folder, name): (&Path, &str),
    ) -> Self {
        let log = folder.join(format!("{name}.log"));
        let mut process = lariat();
        process.arg(command).arg("--kubeconfig").arg(kubeconfig).args(arguments);
        let child = process.stdout(Stdio::null()).stderr(File::create(&log).unwrap()).spawn().unwrap();
        Self { child, log: Some(log) }
    }

    /// An API server, once it serves.
    pub(crate) fn apiserver(kubeconfig: &Path, definitions: &Path) -> Self {
        let mut command = lariat();
        command.arg("apiserver").arg("--kubeconfig-out").arg(kubeconfig).arg("--crd").arg(definitions);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().starts_with("serving on "));
        Self { child, log: None }
    }

    /// Tells it to end, and expects that it does, well.
    pub(crate) async fn stop(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success(), "{}", self.said());
        let ended = async {
            loop {
                match self.child.try_wait().unwrap() {
                    Some(status) => return status,
                    None => sleep(Duration::from_millis(20)).await,
                }
            }
        };
        let status = timeout(END, ended).await.expect("it does not end");
        assert!(status.success(), "{status}: {}", self.said());
    }

    fn said(&self) -> String {
        self.log.as_ref().map(|log| std::fs::read_to_string(log).unwrap()).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let said = self.said();
            let last: Vec<&str> = said.lines().rev().take(20).collect();
            println!("{:?} said at last, newest first:\n{}", self.log, last.join("\n"));
        }
    }
}
