//! A program that is measured: told what to do in lines, answering in lines of JSON.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// The longest that any answer may take. The slowest that was seen takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct Program {
    child: Child,
    commands: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    pub(crate) pid: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Answer {
    phase: String,
    pub(crate) seconds: f64,
    pub(crate) live: u64,
    pub(crate) objects: u64,
    pub(crate) adds: u64,
    pub(crate) updates: u64,
    pub(crate) folded: u64,
    pub(crate) digest: String,
}

impl Program {
    pub(crate) fn start(path: &Path, arguments: &[String]) -> Result<Self> {
        let mut child = Command::new(path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", path.display()))?;
        let commands = child.stdin.take().context("no input")?;
        let answers = BufReader::new(child.stdout.take().context("no output")?).lines();
        let pid = child.id().context("ended at once")?;
        Ok(Self { child, commands, answers, pid })
    }

    pub(crate) async fn tell(&mut self, command: &str) -> Result<()> {
        self.commands.write_all(format!("{command}\n").as_bytes()).await?;
        Ok(self.commands.flush().await?)
    }

    pub(crate) async fn ask(&mut self, command: &str, phase: &str) -> Result<Answer> {
        self.tell(command).await?;
        self.wait_for(phase).await
    }

    pub(crate) async fn wait_for(&mut self, phase: &str) -> Result<Answer> {
        let line = timeout(PATIENCE, self.answers.next_line())
            .await
            .with_context(|| format!("no {phase:?} after {} s", PATIENCE.as_secs()))??;
        let line = line.with_context(|| format!("ended before {phase:?}"))?;
        let answer: Answer = serde_json::from_str(&line).with_context(|| line.clone())?;
        if answer.phase != phase {
            bail!("got {line}, want {phase:?}");
        }
        Ok(answer)
    }

    pub(crate) async fn end(mut self) -> Result<()> {
        drop(self.commands);
        timeout(PATIENCE, self.child.wait()).await.context("does not end")??;
        Ok(())
    }
}
