//! The messages of OTLP that a push of metrics needs, as opentelemetry-proto 1.x has them: metrics_service.proto, metrics.proto, resource.proto
//! and common.proto. Fields that are never sent are left out, which protobuf allows.

use prost::{Enumeration, Message, Oneof};

/// What is sent: `ExportMetricsServiceRequest`.
#[derive(Clone, PartialEq, Message)]
pub struct Request {
    /// One for each thing that is described.
    #[prost(message, repeated, tag = "1")]
    pub resource_metrics: Vec<ResourceMetrics>,
}

/// What comes back: `ExportMetricsServiceResponse`.
#[derive(Clone, PartialEq, Message)]
pub struct Response {
    /// Set if not all was taken, or there is something to say.
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<PartialSuccess>,
}

/// `ExportMetricsPartialSuccess`.
#[derive(Clone, PartialEq, Message)]
pub struct PartialSuccess {
    /// Number of points that were not taken.
    #[prost(int64, tag = "1")]
    pub rejected_data_points: i64,
    /// Why.
    #[prost(string, tag = "2")]
    pub error_message: String,
}

/// `ResourceMetrics`.
#[derive(Clone, PartialEq, Message)]
pub struct ResourceMetrics {
    /// What is described.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// By who describes it.
    #[prost(message, repeated, tag = "2")]
    pub scope_metrics: Vec<ScopeMetrics>,
    /// The version of the names.
    #[prost(string, tag = "3")]
    pub schema_url: String,
}

/// `Resource`.
#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    /// What it is.
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// `ScopeMetrics`.
#[derive(Clone, PartialEq, Message)]
pub struct ScopeMetrics {
    /// Who describes it.
    #[prost(message, optional, tag = "1")]
    pub scope: Option<Scope>,
    /// The metrics.
    #[prost(message, repeated, tag = "2")]
    pub metrics: Vec<Metric>,
    /// The version of the names.
    #[prost(string, tag = "3")]
    pub schema_url: String,
}

/// `InstrumentationScope`.
#[derive(Clone, PartialEq, Message)]
pub struct Scope {
    /// The program.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its version.
    #[prost(string, tag = "2")]
    pub version: String,
}

/// `Metric`.
#[derive(Clone, PartialEq, Message)]
pub struct Metric {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What it is, in one line.
    #[prost(string, tag = "2")]
    pub description: String,
    /// In UCUM, such as `s`, `ns`, `By` or `{process}`.
    #[prost(string, tag = "3")]
    pub unit: String,
    /// Its points.
    #[prost(oneof = "Data", tags = "5, 7")]
    pub data: Option<Data>,
}

/// The points of a metric.
#[derive(Clone, PartialEq, Oneof)]
pub enum Data {
    /// A value as it is now.
    #[prost(message, tag = "5")]
    Gauge(Gauge),
    /// A counter.
    #[prost(message, tag = "7")]
    Sum(Sum),
}

/// `Gauge`.
#[derive(Clone, PartialEq, Message)]
pub struct Gauge {
    /// The points.
    #[prost(message, repeated, tag = "1")]
    pub data_points: Vec<Point>,
}

/// `Sum`.
#[derive(Clone, PartialEq, Message)]
pub struct Sum {
    /// The points.
    #[prost(message, repeated, tag = "1")]
    pub data_points: Vec<Point>,
    /// What a value counts from.
    #[prost(enumeration = "Temporality", tag = "2")]
    pub aggregation_temporality: i32,
    /// Whether it never falls.
    #[prost(bool, tag = "3")]
    pub is_monotonic: bool,
}

/// `AggregationTemporality`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Temporality {
    /// It is not said.
    Unspecified = 0,
    /// From the point before.
    Delta = 1,
    /// From the start time of the point.
    Cumulative = 2,
}

/// `NumberDataPoint`.
#[derive(Clone, PartialEq, Message)]
pub struct Point {
    /// What it is of.
    #[prost(message, repeated, tag = "7")]
    pub attributes: Vec<KeyValue>,
    /// What a counter counts from, in nanoseconds since 1970.
    #[prost(fixed64, tag = "2")]
    pub start_time_unix_nano: u64,
    /// Of when the value is, in nanoseconds since 1970.
    #[prost(fixed64, tag = "3")]
    pub time_unix_nano: u64,
    /// How much.
    #[prost(oneof = "Value", tags = "4, 6")]
    pub value: Option<Value>,
}

/// The value of a point.
#[derive(Clone, Copy, PartialEq, Oneof)]
pub enum Value {
    /// A number of any kind.
    #[prost(double, tag = "4")]
    Double(f64),
    /// A whole number.
    #[prost(sfixed64, tag = "6")]
    Int(i64),
}

/// `KeyValue`.
#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    /// The name of the attribute.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// `AnyValue`.
#[derive(Clone, PartialEq, Message)]
pub struct AnyValue {
    /// Text or a number.
    #[prost(oneof = "Any", tags = "1, 3")]
    pub value: Option<Any>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Oneof)]
pub enum Any {
    /// Text.
    #[prost(string, tag = "1")]
    Text(String),
    /// A whole number.
    #[prost(int64, tag = "3")]
    Int(i64),
}

impl KeyValue {
    /// An attribute whose value is text.
    pub fn text(key: &str, value: impl Into<String>) -> KeyValue {
        KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(Any::Text(value.into())) }) }
    }

    /// An attribute whose value is a whole number.
    pub fn int(key: &str, value: i64) -> KeyValue {
        KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(Any::Int(value)) }) }
    }
}
