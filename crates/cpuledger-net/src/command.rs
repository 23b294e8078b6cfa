//! The commands of this program.

use std::env::ArgsOs;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use cpuledger_program as options;
use cpuledger_program::end;
use cpuledger_program::exit::Failure;
use cpuledger_program::metrics;
use cpuledger_program::output::{complain, warn};
use cpuledger_program::web;
use cpuledger_report::Dimension;
use cpuledger_service::client::{ClientError, name_socket, socket_path};
use cpuledger_service::inherited;
use signal_hook::consts::{SIGINT, SIGTERM};
use tokio::sync::Notify;

use crate::books::Books;
use crate::compat::containers::Containers;
use crate::compat::groups::Groups;
use crate::compat::procfs::{self, Files};
use crate::compat::{Compat, rules_file};
use crate::follow::{self, Connection, Shared};
use crate::listen::{Listener, Place};
use crate::mcp;
use crate::push;
use crate::scrape::Metrics;
use crate::server::{Server, Site};
use crate::web::Page;
use crate::web::ask::usual_recording;
use crate::web::live::Live;
use crate::web_config::WebConfig;

/// Where metrics and the page are if nothing else is said.
const USUAL: &str = "127.0.0.1:10911";
const USUAL_OF_WEB: &str = "127.0.0.1:10912";
/// After so many seconds without a visitor a program ends that was started for one.
const USUAL_IDLE: u32 = 60;

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
        Some(command) if command == "metrics" => serve_metrics(&parsed(words)?),
        Some(command) if command == "push" => {
            let arguments: options::push::Arguments = parsed(words)?;
            let connection = connect(arguments.socket.as_deref(), "push")?;
            push::run(&arguments, &dimensions(&arguments.by), connection)
        }
        Some(command) if command == "web" => serve_web(parsed(words)?),
        Some(command) if command == "mcp" => mcp::run(&parsed(words)?),
        _ => Err(Failure::Usage(format!(
            "{} is a part of cpuledger: run `cpuledger metrics`, `cpuledger push`, `cpuledger mcp` or `cpuledger web`",
            program.display()
        ))
        .into()),
    }
}

/// The options of a command, from the words behind its name.
fn parsed<A: Parser>(words: ArgsOs) -> anyhow::Result<A> {
    let name = OsString::from(format!("cpuledger {}", A::command().get_name()));
    Ok(A::try_parse_from([name].into_iter().chain(words))?)
}

/// Each of these once.
fn dimensions(by: &[Dimension]) -> Vec<Dimension> {
    let mut dimensions: Vec<Dimension> = Vec::new();
    for by in by {
        if !dimensions.contains(by) {
            dimensions.push(*by);
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

/// What `--web-config` says; without one, everybody may read.
fn web_config(path: Option<&Path>) -> anyhow::Result<WebConfig> {
    let Some(path) = path else { return Ok(WebConfig::default()) };
    let (config, files) = WebConfig::read(path);
    let mut config = config?;
    config.watch(files);
    Ok(config)
}

fn scheme(config: &WebConfig) -> &'static str {
    if config.tls.is_some() { "https" } else { "http" }
}

/// Runs a server in one thread: what others wait for is never long.
fn block_on(served: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the server")?;
    let result = runtime.block_on(served);
    // A password that is being checked is not waited for, nor is a question that is being answered.
    runtime.shutdown_background();
    result
}

/// Is told of the signal that ends the program.
fn ended() -> anyhow::Result<Arc<Notify>> {
    let ended = Arc::new(Notify::new());
    let told = Arc::clone(&ended);
    let ending = (move || told.notify_one(), || None);
    end::watch(&end::by([SIGINT, SIGTERM]), false, ending).context("cannot handle signals")?;
    Ok(ended)
}

/// The sets of other exporters that are asked for.
fn compat(arguments: &metrics::Arguments) -> anyhow::Result<Compat> {
    let (limit, mut compat) = (arguments.series as usize, Compat::default());
    if arguments.compat.contains(&metrics::Compat::ProcessExporter) {
        let rules = rules_file::read(arguments.process_names.as_deref())?;
        if !procfs::shows_others() {
            warn(
                "/proc does not show processes of others: rules see their names, not their arguments;                  ProtectProc=default in the unit, or another hidepid of /proc, shows them",
            );
        }
        compat.groups = Some(Groups::new(rules, arguments.children.unwrap_or(true), limit));
    } else if arguments.process_names.is_some() || arguments.children.is_some() {
        let sentence = "--process-names and --children are for --compat process-exporter: add that";
        return Err(Failure::Usage(sentence.into()).into());
    }
    if arguments.compat.contains(&metrics::Compat::CAdvisor) {
        compat.containers = Some(Containers::new(limit));
    }
    Ok(compat)
}

/// `cpuledger metrics`.
fn serve_metrics(arguments: &metrics::Arguments) -> anyhow::Result<()> {
    let config = web_config(arguments.web_config.as_deref())?;
    let dimensions = dimensions(&arguments.by);
    let compat = compat(arguments)?;
    let connection = connect(arguments.socket.as_deref(), "metrics")?;
    let files = compat.groups.as_ref().map(|groups| Files::new(groups.need_cgroups()));
    let books = Books::new(&dimensions, arguments.series as usize).with_compat(compat);
    let shared = Shared::new(books, files);
    let is_open = config.users.is_empty() && !config.requires_certificate;
    let (is_plain, scheme) = (config.tls.is_none(), scheme(&config));
    let site = Metrics::new(shared.clone());
    let server = Arc::new(Server::new(site, arguments.web_config.clone(), config));
    block_on(async {
        let (listeners, _) = listeners(&arguments.listen, USUAL).await?;
        follow::start(connection, shared).context("cannot start the thread that reads the service")?;
        let ended = ended()?;
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
    })
}

/// `cpuledger web`.
fn serve_web(arguments: web::Arguments) -> anyhow::Result<()> {
    let config = web_config(arguments.web_config.as_deref())?;
    let connection = connect(arguments.socket.as_deref(), "page")?;
    block_on(async {
        let (listeners, is_for_visitors) = listeners(&arguments.listen, USUAL_OF_WEB).await?;
        let exposed = listeners.iter().find(|listener| !listener.is_local());
        if let Some(listener) = exposed
            && !config.is_guarded()
        {
            return Err(Failure::Usage(format!(
                "other machines reach {}: name a file with a certificate and a password by --web-config, or listen on this machine only",
                listener.name(scheme(&config))
            ))
            .into());
        }
        let recording = arguments.recording.or_else(usual_recording);
        let (live, scheme) = (Live::new(recording.clone()), scheme(&config));
        let site = Page::new(live.clone(), recording, connection.audience.clone());
        let server = Arc::new(Server::new(site, arguments.web_config, config));
        follow::start(connection, live).context("cannot start the thread that reads the service")?;
        let ended = ended()?;
        let idle = arguments.idle.unwrap_or(if is_for_visitors { USUAL_IDLE } else { 0 });
        for listener in listeners {
            complain(&format!("cpuledger: the page is at {}", listener.name(scheme)));
            tokio::spawn(Arc::clone(&server).run(listener));
        }
        if idle > 0 {
            let ended = Arc::clone(&ended);
            tokio::spawn(async move {
                idle_for(&server, Duration::from_secs(idle.into())).await;
                ended.notify_one();
            });
        }
        ended.notified().await;
        Ok(())
    })
}

/// Returns when nobody has been connected for that time.
async fn idle_for<S: Site>(server: &Server<S>, longest: Duration) {
    loop {
        let left = longest.saturating_sub(server.idle());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left).await;
    }
}

/// Where it listens: what the options name and what the service manager hands over, else the usual address. Also whether all is from the
/// service manager.
async fn listeners(named: &[String], usual: &str) -> anyhow::Result<(Vec<Listener>, bool)> {
    let mut listeners = Vec::new();
    for inherited in inherited().context("cannot take the sockets of the service manager")? {
        let listener = Listener::take(inherited.fd);
        listeners.push(listener.context("a socket of the service manager is of no use")?);
    }
    let is_inherited = named.is_empty() && !listeners.is_empty();
    let usual = [usual.to_owned()];
    let named = match named {
        [] if listeners.is_empty() => &usual,
        named => named,
    };
    for text in named {
        let place: Place = text.parse().map_err(|reason| Failure::Usage(format!("--listen: {reason}")))?;
        let listener = Listener::bind(&place).await;
        listeners.push(listener.with_context(|| format!("cannot listen at {place}"))?);
    }
    Ok((listeners, is_inherited))
}
