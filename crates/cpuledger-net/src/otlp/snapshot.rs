//! The books as OTLP has them: cumulative sums with the time when each began.
//!
//! No metric has both a sum and its parts. So each dimension has metrics of its own, and within one all points add up to the attributed time once.

use cpuledger_report::Dimension;
use jiff::Timestamp;

use crate::books::Books;
use crate::families::{FAMILIES, Family, Kind};
use crate::labels::{REST, UNKNOWN, WITHOUT};
use crate::otlp::messages::{
    Data, Gauge, KeyValue, Metric, Point, Request, Resource, ResourceMetrics, Scope, ScopeMetrics, Sum,
    Temporality, Value,
};
use crate::own::Own;
use crate::processes::Process;
use crate::samples::{self, Sample};
use crate::series::Rounds;
use crate::totals::Sums as _;

/// The version of the names that are not cpuledger's own.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.44.0";
/// No request has more points. Receivers take messages of some MiB.
const MOST_POINTS: usize = 8000;

/// A figure of the push itself.
pub struct PushFigure {
    /// The name of its metric.
    pub name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
    /// In UCUM, or nothing.
    pub unit: &'static str,
    /// Whether it is a counter; else a gauge.
    pub is_counter: bool,
    /// How much.
    pub value: u64,
}

/// The name of a family as a metric of OTLP; of one by dimension, the dimension is a part of it. `None`: it is not pushed.
pub fn metric_name(family: &Family, by: Option<Dimension>) -> Option<String> {
    if matches!(family.kind, Kind::Server(_)) {
        return None;
    }
    let name = family.name.strip_prefix("cpuledger_")?;
    let name = match name.strip_suffix("_seconds") {
        Some(name) => format!("{name}.time"),
        None => name.to_owned(),
    };
    let by = by.map(|by| format!("{}.", by.name())).unwrap_or_default();
    Some(format!("cpuledger.{by}{name}"))
}

/// Of when a push is, and what is in it beside the series that are shown.
#[derive(Debug, Clone, Copy)]
pub struct Cut<'a> {
    /// CLOCK_REALTIME.
    pub now_ns: u64,
    /// Series that left after these rounds are in it again, as a request with their last values was lost.
    pub again: Rounds<'a>,
}

/// All of the books in requests of a bounded size, each of which is sent before the next is made. `resource` is this machine.
pub fn requests(
    books: &Books,
    own: &Own,
    push: &[PushFigure],
    resource: &[KeyValue],
    cut: Cut<'_>,
    send: &mut dyn FnMut(Request),
) {
    let mut page = Page { request: Request::default(), points: 0, resource, cut, send };
    for family in &FAMILIES {
        page.family(family, books, own);
    }
    page.modes(books);
    for figure in push {
        let mut point =
            page.point(Vec::new(), books.created_ns(), Value::Int(saturated(figure.value.into())));
        if !figure.is_counter {
            point.start_time_unix_nano = 0;
        }
        page.put(resource, (figure.name, figure.help, figure.unit), figure.is_counter, vec![point]);
    }
    page.containers(books);
    for process in books.processes(cut.again) {
        page.process(process);
    }
    page.end_request();
}

struct Page<'a> {
    /// The one that is made.
    request: Request,
    /// Points in it.
    points: usize,
    resource: &'a [KeyValue],
    cut: Cut<'a>,
    send: &'a mut dyn FnMut(Request),
}

impl Page<'_> {
    fn family(&mut self, family: &Family, books: &Books, own: &Own) {
        let mut all: Vec<(Option<Dimension>, Vec<Point>)> = Vec::new();
        samples::each(
            family.kind,
            books,
            Some(own),
            self.cut.again,
            |Sample { by, labels, value, created_ns }| {
                let attributes = labels.iter().map(|label| match label.attribute {
                    ("", name) => KeyValue::text(&by.map_or_else(String::new, attribute_of), name),
                    (key, value) => KeyValue::text(key, value),
                });
                let point = self.point(attributes.collect(), created_ns, int(value));
                match all.last_mut().filter(|(own, _)| *own == by) {
                    Some((_, points)) => points.push(point),
                    None => all.push((by, vec![point])),
                }
            },
        );
        all.into_iter().for_each(|(by, points)| self.own(family, by, points));
    }

    /// A family of cpuledger's own: whole nanoseconds, which are exact.
    fn own(&mut self, family: &Family, by: Option<Dimension>, mut points: Vec<Point>) {
        let Some(name) = metric_name(family, by) else { return };
        let unit = match family.unit() {
            "seconds" => "ns",
            "bytes" => "By",
            _ => "",
        };
        if !family.is_counter {
            points.iter_mut().for_each(|point| point.start_time_unix_nano = 0);
        }
        self.put(self.resource, (&name, family.help, unit), family.is_counter, points);
    }

    /// `system.cpu.time`: its points add up to the capacity.
    fn modes(&mut self, books: &Books) {
        let Some(modes) = books.modes() else { return };
        let machine = books.machine();
        let beside = [("idle", machine.idle_ns), ("unattributed", machine.unattributed_ns.iter().sum())];
        let points =
            modes.named().into_iter().chain(beside).map(|(mode, ns)| self.mode(mode, ns, books.created_ns()));
        let points = points.collect();
        let help = "Seconds each logical CPU spent on each mode.";
        self.put(self.resource, ("system.cpu.time", help, "s"), true, points);
    }

    fn mode(&self, mode: &str, ns: u128, since_ns: u64) -> Point {
        self.point(vec![KeyValue::text("cpu.mode", mode)], since_ns, seconds(ns))
    }

    /// Containers and pods that have a name, each as a resource.
    fn containers(&mut self, books: &Books) {
        for (dimension, table) in books.tables() {
            let metric = match dimension {
                Dimension::Container => "container.cpu.time",
                Dimension::Pod => "k8s.pod.cpu.time",
                _ => continue,
            };
            for (name, totals, created_ns) in table.lines(self.cut.again) {
                if matches!(name.as_str(), REST | UNKNOWN | WITHOUT) {
                    continue;
                }
                let named = match (dimension, name.split_once('/')) {
                    (Dimension::Pod, Some((namespace, pod))) => {
                        vec![
                            KeyValue::text("k8s.namespace.name", namespace),
                            KeyValue::text("k8s.pod.name", pod),
                        ]
                    }
                    (Dimension::Pod, None) => vec![KeyValue::text("k8s.pod.name", name.as_str())],
                    _ => vec![KeyValue::text("container.name", name.as_str())],
                };
                let resource = [self.resource, &named].concat();
                let point = self.point(Vec::new(), created_ns, seconds(totals.cpu_ns()));
                self.put(&resource, (metric, "Total CPU time consumed.", "s"), true, vec![point]);
            }
        }
    }

    fn process(&mut self, process: &Process) {
        let own = [
            KeyValue::int("process.pid", process.pid),
            KeyValue::text("process.creation.time", text_of(process.creation_ns)),
            KeyValue::text("process.executable.name", process.name.as_str()),
        ];
        let resource = [self.resource, &own].concat();
        let since_ns = process.since_ns;
        let points = process.modes.named().map(|(mode, ns)| self.mode(mode, ns, since_ns));
        let help = "Total CPU seconds broken down by different CPU modes.";
        self.put(&resource, ("process.cpu.time", help, "s"), true, points.into());
        let [voluntary, involuntary, minor, major] = process.counts;
        for (metric, help, key, parts) in [
            (
                ("process.context_switches", "{context_switch}"),
                "Number of times the process has been context switched.",
                "process.context_switch.type",
                [("voluntary", voluntary), ("involuntary", involuntary)],
            ),
            (
                ("process.paging.faults", "{fault}"),
                "Number of page faults the process has made.",
                "system.paging.fault.type",
                [("minor", minor), ("major", major)],
            ),
        ] {
            let known = parts.into_iter().filter_map(|(part, count)| Some((part, count?)));
            let points = known.map(|(part, count)| {
                self.point(vec![KeyValue::text(key, part)], since_ns, Value::Int(saturated(count.into())))
            });
            let points = points.collect();
            self.put(&resource, (metric.0, help, metric.1), true, points);
        }
    }

    fn point(&self, attributes: Vec<KeyValue>, since_ns: u64, value: Value) -> Point {
        Point {
            attributes,
            // The clock may have been set back since.
            start_time_unix_nano: since_ns.min(self.cut.now_ns),
            time_unix_nano: self.cut.now_ns,
            value: Some(value),
        }
    }

    /// Adds a metric: its name, what it is and its unit. A request that is full ends, amid a metric if need be.
    fn put(
        &mut self,
        resource: &[KeyValue],
        (name, help, unit): (&str, &str, &str),
        is_counter: bool,
        mut points: Vec<Point>,
    ) {
        while !points.is_empty() {
            if self.points >= MOST_POINTS {
                self.end_request();
            }
            let later = points.split_off(points.len().min(MOST_POINTS - self.points));
            self.points += points.len();
            let data = match is_counter {
                true => Data::Sum(Sum {
                    data_points: points,
                    aggregation_temporality: Temporality::Cumulative.into(),
                    is_monotonic: true,
                }),
                false => Data::Gauge(Gauge { data_points: points }),
            };
            let metric = Metric {
                name: name.to_owned(),
                description: help.to_owned(),
                unit: unit.to_owned(),
                data: Some(data),
            };
            scope_of(&mut self.request, resource).metrics.push(metric);
            points = later;
        }
    }

    fn end_request(&mut self) {
        if std::mem::take(&mut self.points) > 0 {
            (self.send)(std::mem::take(&mut self.request));
        }
    }
}

/// Where metrics of a resource go: those of one come one after the other.
fn scope_of<'a>(request: &'a mut Request, resource: &[KeyValue]) -> &'a mut ScopeMetrics {
    let is_last = |own: &ResourceMetrics| own.resource.as_ref().is_some_and(|own| own.attributes == resource);
    if !request.resource_metrics.last().is_some_and(is_last) {
        let scope = Scope { name: "cpuledger".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let metrics = ScopeMetrics { scope: Some(scope), metrics: Vec::new(), schema_url: SCHEMA.to_owned() };
        request.resource_metrics.push(ResourceMetrics {
            resource: Some(Resource { attributes: resource.to_vec() }),
            scope_metrics: vec![metrics],
            schema_url: SCHEMA.to_owned(),
        });
    }
    let last = request.resource_metrics.len() - 1;
    &mut request.resource_metrics[last].scope_metrics[0]
}

/// The attribute with the name in a dimension.
fn attribute_of(by: Dimension) -> String {
    format!("cpuledger.{}", by.name())
}

fn int(value: u128) -> Value {
    Value::Int(saturated(value))
}

/// The books are renewed long before a sum gets there.
fn saturated(value: u128) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Seconds, as the conventions want them: the nearest number of 53 bits.
fn seconds(ns: u128) -> Value {
    Value::Double(ns as f64 / 1e9)
}

/// An instant to the millisecond, as in `2026-03-01T03:12:00.123Z`.
fn text_of(realtime_ns: u64) -> String {
    let milliseconds = i64::try_from(realtime_ns / 1_000_000).unwrap_or_default();
    Timestamp::from_millisecond(milliseconds).map(|when| format!("{when:.3}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        assert_eq!(text_of(1_700_000_000_000_999_999), "2023-11-14T22:13:20.000Z");
        assert_eq!(text_of(1_700_000_000_123_000_000), "2023-11-14T22:13:20.123Z");
    }

    #[test]
    fn names_say_the_dimension_and_not_the_unit() {
        let name = |own: &str, by| {
            FAMILIES.iter().find(|family| family.name == own).and_then(|family| metric_name(family, by))
        };
        let by = Some(Dimension::Command);
        assert_eq!(name("cpuledger_cpu_seconds", by).as_deref(), Some("cpuledger.command.cpu.time"));
        assert_eq!(name("cpuledger_exits", by).as_deref(), Some("cpuledger.command.exits"));
        assert_eq!(name("cpuledger_idle_seconds", None).as_deref(), Some("cpuledger.idle.time"));
        assert_eq!(name("process_cpu_seconds", None), None);
    }

    #[test]
    fn a_full_request_ends_and_no_point_is_lost() {
        let resource = [KeyValue::text("host.name", "here")];
        let mut requests = Vec::new();
        let mut send = |request| requests.push(request);
        let cut = Cut { now_ns: 5, again: &[] };
        let mut page =
            Page { request: Request::default(), points: 0, resource: &resource, cut, send: &mut send };
        for metric in 0..3 {
            let points = (0..MOST_POINTS - 1).map(|number| page.point(Vec::new(), 0, int(number as u128)));
            let points = points.collect();
            page.put(&resource, (&format!("metric {metric}"), "", "ns"), true, points);
        }
        page.end_request();
        let counts: Vec<usize> = requests.iter().map(|request| points_of(request).count()).collect();
        assert_eq!(counts, [MOST_POINTS, MOST_POINTS, MOST_POINTS - 3]);
        let values: i64 = requests
            .iter()
            .flat_map(points_of)
            .map(|value| match value {
                Some(Value::Int(value)) => value,
                _ => -1,
            })
            .sum();
        let once = (0..MOST_POINTS as i64 - 1).sum::<i64>();
        assert_eq!(values, 3 * once);
    }

    fn points_of(request: &Request) -> impl Iterator<Item = Option<Value>> {
        let scopes = request.resource_metrics.iter().flat_map(|own| &own.scope_metrics);
        let sums = scopes.flat_map(|scope| &scope.metrics).filter_map(|metric| match &metric.data {
            Some(Data::Sum(sum)) => Some(sum),
            _ => None,
        });
        sums.flat_map(|sum| sum.data_points.iter().map(|point| point.value))
    }
}
