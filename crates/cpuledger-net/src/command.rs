//! The commands of this program.

use std::env::ArgsOs;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use clap::FromArgMatches;
use cpuledger_program as options;
use cpuledger_program::end::{self, Notice, Reason, Watched};
use cpuledger_program::exit::Failure;
use cpuledger_program::metrics::{Arguments, By};
use cpuledger_program::output::{complain, warn};
use cpuledger_report::Dimension;
use cpuledger_service::client::{ClientError, name_socket, socket_path};
use cpuledger_service::inherited;
use signal_hook::consts::{SIGINT, SIGTERM};
use tokio::sync::Notify;

use crate::books::Books;
use crate::follow::{self, Connection, Shared};
use crate::listen::{Listener, Place, USUAL};
use crate::mcp;
use crate::push;
use crate::server::Server;
use crate::web_config::WebConfig;

/// Whether an error is that the service cannot be used.
pub fn is_of_source(error: &anyhow::Error) -> bool {
    error.downcast_ref::<ClientError>().is_some()
}

/// Runs the command that the first argument names.
///
/// # Errors
/// When the command line is wrong, or the command fails.
pub fn main() -> anyhow::Result<()> {
    let mut words = std::env::args_os();
    let program = words.next().unwrap_or_else(|| "cpuledger-net".into());
    match words.next() {
        Some(command) if command == "metrics" => serve_metrics(&parsed(options::metrics::command(), words)?),
        Some(command) if command == "push" => {
            let arguments: options::push::Arguments = parsed(options::push::command(), words)?;
            let connection = connect(arguments.socket.as_deref(), "push")?;
            push::run(&arguments, &dimensions(&arguments.by), connection)
        }
        Some(command) if command == "mcp" => mcp::run(&parsed(options::mcp::command(), words)?),
        _ => Err(Failure::Usage(format!(
            "{} is a part of cpuledger: run `cpuledger metrics`, `cpuledger push` or `cpuledger mcp`",
            program.display()
        ))
        .into()),
    }
}

/// The options of a command, from the words behind its name.
fn parsed<A: FromArgMatches>(command: clap::Command, words: ArgsOs) -> anyhow::Result<A> {
    let name = OsString::from(format!("cpuledger {}", command.get_name()));
    let matches = command.try_get_matches_from([name].into_iter().chain(words))?;
    Ok(A::from_arg_matches(&matches)?)
}

fn dimension(by: By) -> Dimension {
    match by {
        By::Command => Dimension::Command,
        By::User => Dimension::User,
        By::Cgroup => Dimension::Cgroup,
        By::Unit => Dimension::Unit,
        By::Container => Dimension::Container,
        By::Pod => Dimension::Pod,
        By::Image => Dimension::Image,
    }
}

/// Each of these once.
fn dimensions(by: &[By]) -> Vec<Dimension> {
    let mut dimensions: Vec<Dimension> = Vec::new();
    for by in by.iter().map(|by| dimension(*by)) {
        if !dimensions.contains(&by) {
            dimensions.push(by);
        }
    }
    dimensions
}

/// Connects to the service, and says if that does not show all rows.
fn connect(socket: Option<&Path>, command: &str) -> anyhow::Result<Connection> {
    if let Some(socket) = socket {
        name_socket(socket);
    }
    let connection = follow::connect()
        .with_context(|| format!("no {command} without the service at {}", socket_path().display()))?;
    if connection.audience != "all" {
        warn(&format!(
            "the service shows this user the audience `{}`; [audiences] in its configuration names those who see all",
            connection.audience
        ));
    }
    Ok(connection)
}

/// `cpuledger metrics`.
fn serve_metrics(arguments: &Arguments) -> anyhow::Result<()> {
    let config = match &arguments.web_config {
        Some(path) => {
            let (config, files) = WebConfig::read(path);
            let mut config = config?;
            config.watch(files);
            config
        }
        None => WebConfig::default(),
    };
    let dimensions = dimensions(&arguments.by);
    let connection = connect(arguments.socket.as_deref(), "metrics")?;
    let shared = Shared::new(Books::new(&dimensions, arguments.series as usize));
    let is_open = config.users.is_empty() && !config.requires_certificate;
    let (is_plain, scheme) = (config.tls.is_none(), if config.tls.is_some() { "https" } else { "http" });
    let server = Arc::new(Server::new(shared.clone(), arguments.web_config.clone(), config));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the server")?;
    let ended = Arc::new(Notify::new());
    let result = runtime.block_on(async {
        let listeners = listeners(arguments).await?;
        follow::start(connection, shared).context("cannot start the thread that reads the service")?;
        let signals = [SIGINT, SIGTERM].map(|signal| (signal, Notice::End(Reason::Signal)));
        end::watch(&signals, false, Ending(Arc::clone(&ended))).context("cannot handle signals")?;
        for listener in listeners {
            let name = listener.name(scheme);
            if is_open && !listener.is_local() {
                warn(&format!("other machines can read {name} without a password; --web-config sets one"));
            } else if is_plain && !listener.is_local() {
                warn(&format!("passwords reach {name} unencrypted; --web-config sets a certificate"));
            }
            complain(&format!("cpuledger: metrics are at {name}"));
            tokio::spawn(Arc::clone(&server).run(listener));
        }
        ended.notified().await;
        Ok(())
    });
    // A password that is being checked is not waited for.
    runtime.shutdown_background();
    result
}

/// Where it listens: what the options name and what the service manager hands over, else the usual address.
async fn listeners(arguments: &Arguments) -> anyhow::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for inherited in inherited().context("cannot take the sockets of the service manager")? {
        let listener = Listener::take(inherited.fd);
        listeners.push(listener.context("a socket of the service manager is of no use")?);
    }
    let usual = [USUAL.to_owned()];
    let named = match arguments.listen.as_slice() {
        [] if listeners.is_empty() => &usual,
        named => named,
    };
    for text in named {
        let place: Place = text.parse().map_err(|reason| Failure::Usage(format!("--listen: {reason}")))?;
        let listener = Listener::bind(&place).await;
        listeners.push(listener.with_context(|| format!("cannot listen at {place}"))?);
    }
    Ok(listeners)
}

/// Ends the server.
struct Ending(Arc<Notify>);

impl Watched for Ending {
    fn tell(&mut self, _: Notice) {
        self.0.notify_one();
    }

    fn last_words(self) -> Option<u8> {
        None
    }
}
