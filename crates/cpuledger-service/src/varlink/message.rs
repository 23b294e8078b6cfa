//! Messages: calls, replies, and how a stream of bytes is cut into them.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum length of a call in bytes, without the NUL.
pub const MAX_CALL_BYTES: usize = 64 << 10;
/// Maximum length of a reply in bytes, without the NUL. What is longer follows it as bytes.
pub const MAX_REPLY_BYTES: usize = 1 << 20;
/// Maximum number of arrays and objects within each other.
pub const MAX_DEPTH: usize = 16;

/// Why bytes are no message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It goes on and on.
    #[error("a message of more than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// Arrays and objects within each other.
    #[error("values nest deeper than {MAX_DEPTH}")]
    TooDeep,
    /// It is not JSON, or lacks a member, or one has another type.
    #[error("no message: {0}")]
    Json(#[from] serde_json::Error),
    /// Not of the form `interface.Method`.
    #[error("the name of a method or an error has no interface in front")]
    NoInterface,
}

/// A call of a method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Call {
    /// The interface, a dot, the method.
    pub method: String,
    /// Its parameters by name.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "named_once")]
    pub parameters: Map<String, Value>,
    /// The caller takes more than one reply.
    #[serde(default, skip_serializing_if = "is_false", deserialize_with = "none_is_false")]
    pub more: bool,
    /// The caller wants no reply.
    #[serde(default, skip_serializing_if = "is_false", deserialize_with = "none_is_false")]
    pub oneway: bool,
    /// The caller takes bytes that are no messages behind the reply.
    #[serde(default, skip_serializing_if = "is_false", deserialize_with = "none_is_false")]
    pub upgrade: bool,
}

/// A reply, or an error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reply {
    /// What the method returns, or what the error says, by name.
    #[serde(default, deserialize_with = "named_once")]
    pub parameters: Map<String, Value>,
    /// Another reply to the same call follows.
    #[serde(default, skip_serializing_if = "is_false", deserialize_with = "none_is_false")]
    pub continues: bool,
    /// The interface, a dot, the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Call {
    /// A call with these parameters, which serialize to an object.
    ///
    /// # Errors
    /// When they do not.
    pub fn new(method: &str, parameters: &impl Serialize) -> Result<Call, Fault> {
        let parameters = object(parameters)?;
        Ok(Call { method: method.to_owned(), parameters, more: false, oneway: false, upgrade: false })
    }

    /// Reads a call, given without its NUL.
    ///
    /// # Errors
    /// When the bytes are none.
    pub fn parse(bytes: &[u8]) -> Result<Call, Fault> {
        let call: Call = parse(bytes, MAX_CALL_BYTES)?;
        call.interface_and_name().ok_or(Fault::NoInterface)?;
        Ok(call)
    }

    /// The interface, and the method within it.
    pub fn interface_and_name(&self) -> Option<(&str, &str)> {
        self.method.rsplit_once('.').filter(|(interface, name)| !interface.is_empty() && !name.is_empty())
    }

    /// As bytes with the NUL.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }
}

impl Reply {
    /// A reply with these parameters, which serialize to an object.
    ///
    /// # Errors
    /// When they do not.
    pub fn new(parameters: &impl Serialize) -> Result<Reply, Fault> {
        Ok(Reply { parameters: object(parameters)?, ..Reply::default() })
    }

    /// Reads a reply, given without its NUL.
    ///
    /// # Errors
    /// When the bytes are none.
    pub fn parse(bytes: &[u8]) -> Result<Reply, Fault> {
        parse(bytes, MAX_REPLY_BYTES)
    }

    /// As bytes with the NUL.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }
}

fn object(parameters: &impl Serialize) -> Result<Map<String, Value>, Fault> {
    Ok(serde_json::from_value(serde_json::to_value(parameters)?)?)
}

fn parse<'de, T: Deserialize<'de>>(bytes: &'de [u8], limit: usize) -> Result<T, Fault> {
    if bytes.len() > limit {
        return Err(Fault::TooLong { limit });
    }
    if depth(bytes) > MAX_DEPTH {
        return Err(Fault::TooDeep);
    }
    Ok(serde_json::from_slice(bytes)?)
}

/// How deep arrays and objects nest, if it is JSON.
fn depth(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut is_escaped) = (0_usize, 0, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(message).expect("names are strings, and numbers are numbers of JSON");
    bytes.push(0);
    bytes
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// Some clients write `null` where others write nothing.
fn none_is_false<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(false))
}

/// An object in which no name comes twice: it does not say which of two values is meant.
fn named_once<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    struct Named;

    impl<'de> Visitor<'de> for Named {
        type Value = Map<String, Value>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object or null")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Map::new())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
            let mut map = Map::new();
            while let Some((name, value)) = members.next_entry::<String, Value>()? {
                if map.contains_key(&name) {
                    return Err(A::Error::custom("a parameter has two values"));
                }
                map.insert(name, value);
            }
            Ok(map)
        }
    }

    deserializer.deserialize_any(Named)
}

/// Cuts a stream of bytes into messages.
#[derive(Debug)]
pub struct Messages {
    bytes: Vec<u8>,
    /// Bytes in which no NUL was found.
    searched: usize,
    limit: usize,
}

impl Messages {
    /// For messages of at most `limit` bytes.
    pub fn new(limit: usize) -> Messages {
        Messages { bytes: Vec::new(), searched: 0, limit }
    }

    /// Adds bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next whole message, without its NUL. `None`: its end is missing.
    ///
    /// # Errors
    /// When it is longer than the limit, whether or not its end is there.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let end = self.bytes[self.searched..].iter().position(|&byte| byte == 0);
        let length = end.map_or(self.bytes.len(), |end| self.searched + end);
        if length > self.limit {
            return Err(Fault::TooLong { limit: self.limit });
        }
        self.searched = length;
        if end.is_none() {
            return Ok(None);
        }
        let rest = self.bytes.split_off(length + 1);
        let mut message = std::mem::replace(&mut self.bytes, rest);
        message.truncate(length);
        self.searched = 0;
        Ok(Some(message))
    }

    /// Takes at most `most` bytes of the stream, where these are no message.
    pub(crate) fn take_bytes(&mut self, most: usize) -> Vec<u8> {
        let rest = self.bytes.split_off(most.min(self.bytes.len()));
        self.searched = 0;
        std::mem::replace(&mut self.bytes, rest)
    }

    /// Bytes of messages that were not taken yet.
    pub fn pending(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_comes_back() {
        let call =
            Call::new("io.cpuledger.Ledger.List", &serde_json::json!({ "scope": "tasks" })).expect("a call");
        let bytes = call.to_bytes();
        assert_eq!(
            bytes,
            b"{\"method\":\"io.cpuledger.Ledger.List\",\"parameters\":{\"scope\":\"tasks\"}}\0"
        );
        assert_eq!(Call::parse(&bytes[..bytes.len() - 1]).expect("the same"), call);
        let short = br#"{"method":"a.B","parameters":null,"more":null,"oneway":true,"later":[1]}"#;
        let call = Call::parse(short).expect("a call");
        assert!(call.parameters.is_empty() && !call.more && call.oneway);
        assert_eq!(call.interface_and_name(), Some(("a", "B")));
    }

    #[test]
    fn what_is_no_call_is_refused() {
        for bytes in
            ["", "{", "[]", "1", "{}", r#"{"method":1}"#, r#"{"method":"a"}"#, r#"{"method":".a"}"#, "\u{0}"]
        {
            assert!(Call::parse(bytes.as_bytes()).is_err(), "{bytes}");
        }
        assert!(Call::parse(br#"{"method":"a.B","parameters":[]}"#).is_err());
        assert!(Call::parse(br#"{"method":"a.B","method":"a.C"}"#).is_err());
        for twice in [r#""x":1,"x":2"#, r#""x":1,"y":2,"x":1"#, r#""x":null,"\u0078":2"#] {
            let bytes = format!(r#"{{"method":"a.B","parameters":{{{twice}}}}}"#);
            let error = Call::parse(bytes.as_bytes()).expect_err(twice).to_string();
            assert!(error.contains("a parameter has two values"), "{error}");
            assert!(Reply::parse(bytes.replace("method", "error").as_bytes()).is_err(), "{twice}");
        }
        assert!(Call::parse(b"{\"method\":\"a.\xff\"}").is_err());
    }

    #[test]
    fn depth_and_length_are_limited() {
        let nested = |depth: usize| {
            let value = format!("{}{}", "[".repeat(depth - 2), "]".repeat(depth - 2));
            format!(r#"{{"method":"a.B","parameters":{{"x":{value}}}}}"#)
        };
        Call::parse(nested(MAX_DEPTH).as_bytes()).expect("deep enough");
        assert!(matches!(Call::parse(nested(MAX_DEPTH + 1).as_bytes()), Err(Fault::TooDeep)));
        let brackets = format!(r#"{{"method":"a.B","parameters":{{"x":"\"{}"}}}}"#, "[".repeat(100));
        Call::parse(brackets.as_bytes()).expect("brackets in a string nest nothing");
        let long = format!(r#"{{"method":"a.{}"}}"#, "B".repeat(MAX_CALL_BYTES));
        assert!(matches!(Call::parse(long.as_bytes()), Err(Fault::TooLong { .. })));
    }

    #[test]
    fn a_stream_is_cut_wherever_it_is_torn() {
        let stream = b"one\0\0three\0rest";
        for size in 1..=stream.len() {
            let (mut messages, mut found) = (Messages::new(5), Vec::new());
            for piece in stream.chunks(size) {
                messages.push(piece);
                while let Some(message) = messages.next_message().expect("short enough") {
                    found.push(message);
                }
            }
            assert_eq!(found, [&b"one"[..], b"", b"three"]);
            assert_eq!(messages.pending(), 4);
        }
    }

    #[test]
    fn bytes_between_messages_are_taken_as_they_are() {
        let mut messages = Messages::new(5);
        messages.push(b"one\0\0\0bytestwo\0");
        assert_eq!(messages.next_message().expect("short enough").as_deref(), Some(&b"one"[..]));
        assert_eq!(messages.take_bytes(7), b"\0\0bytes");
        assert_eq!(messages.next_message().expect("short enough").as_deref(), Some(&b"two"[..]));
        assert!(messages.take_bytes(1).is_empty());
    }

    #[test]
    fn a_message_without_end_is_refused() {
        let mut messages = Messages::new(5);
        messages.push(b"12345");
        assert!(messages.next_message().expect("it may end here").is_none());
        messages.push(b"6");
        assert!(messages.next_message().is_err());
        let mut messages = Messages::new(5);
        messages.push(b"123456\0");
        assert!(messages.next_message().is_err());
    }
}
