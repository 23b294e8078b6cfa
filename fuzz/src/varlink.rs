//! A stream of the control socket: what a hostile peer sends to the service, or a hostile service to its client.

use cpuledger_service::varlink::{Call, Fault, MAX_CALL_BYTES, Messages, Refusal, Reply, Request};

/// A limit that short inputs reach, too.
const SHORT: usize = 256;

/// Cuts the stream into messages, as it comes at once and byte by byte, and reads each as a call and as a reply.
///
/// # Panics
/// If the cuts differ, or a message that was read does not come back.
pub fn varlink(bytes: &[u8]) {
    let (at_once, is_refused) = cut(bytes, bytes.len().max(1));
    assert_eq!(cut(bytes, 1), (at_once.clone(), is_refused), "the pieces in which it comes decide");
    for message in at_once {
        call(&message);
        reply(&message);
    }
    // What is behind the last NUL, too, and all of it.
    call(bytes);
    reply(bytes);
}

/// The messages of a stream that comes in pieces of this size, and whether one was too long.
fn cut(bytes: &[u8], size: usize) -> (Vec<Vec<u8>>, bool) {
    let (mut messages, mut found) = (Messages::new(SHORT), Vec::new());
    for piece in bytes.chunks(size) {
        messages.push(piece);
        loop {
            match messages.next_message() {
                Ok(Some(message)) => found.push(message),
                Ok(None) => break,
                Err(Fault::TooLong { limit: SHORT }) => return (found, true),
                Err(fault) => panic!("{fault}"),
            }
        }
        assert!(messages.pending() <= SHORT, "{} bytes wait", messages.pending());
    }
    (found, false)
}

fn call(bytes: &[u8]) {
    let call = match Call::parse(bytes) {
        Ok(call) => call,
        Err(fault) => return assert!(!fault.to_string().is_empty()),
    };
    assert!(bytes.len() <= MAX_CALL_BYTES);
    let written = call.to_bytes();
    let (end, text) = written.split_last().expect("it ends with a NUL");
    assert!(*end == 0 && !text.contains(&0), "a NUL ends a message, and nothing else does");
    if text.len() <= MAX_CALL_BYTES {
        let again = Call::parse(text).expect("what is written can be read");
        assert_eq!((&again.method, again.more, again.oneway), (&call.method, call.more, call.oneway));
        // No method takes a fraction, and serde_json reads some of them one digit off.
        assert!(again.parameters.keys().eq(call.parameters.keys()));
    }
    match Request::of(&call) {
        Ok(Request::Service(request)) => drop(request.reply("0.0.0")),
        Ok(Request::Ledger(_)) => {}
        Err(refusal) => assert_eq!(Refusal::of(&refusal.to_reply()), Some(refusal)),
    }
}

fn reply(bytes: &[u8]) {
    if let Ok(reply) = Reply::parse(bytes) {
        let refusal = Refusal::of(&reply);
        assert_eq!(refusal.is_some(), reply.error.is_some());
    }
}
