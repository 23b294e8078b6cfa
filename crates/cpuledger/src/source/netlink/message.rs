//! Messages of generic netlink as bytes: requests on their way out, answers and reports on their way in. Pure, no kernel.

use super::layout::Unknown;

/// The family that knows the others (`GENL_ID_CTRL`).
pub const CONTROLLER: u16 = 0x10;
/// `CTRL_CMD_GETFAMILY`.
pub const GET_FAMILY: u8 = 3;
/// `CTRL_ATTR_FAMILY_ID` and `CTRL_ATTR_FAMILY_NAME`.
const FAMILY_ID: u16 = 1;
/// See `FAMILY_ID`.
pub const FAMILY_NAME: u16 = 2;
/// `TASKSTATS_CMD_GET`.
pub const GET: u8 = 1;
/// `TASKSTATS_CMD_ATTR_PID`: one task.
pub const ATTR_PID: u16 = 1;
/// `TASKSTATS_CMD_ATTR_TGID`: one process.
pub const ATTR_TGID: u16 = 2;
/// `TASKSTATS_CMD_ATTR_REGISTER_CPUMASK`: reports of exits on these CPUs.
pub const ATTR_REGISTER: u16 = 3;

/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `NLM_F_ACK`: an answer without news is wanted too.
pub const ACKNOWLEDGE: u16 = 4;
/// `NLMSG_ERROR`; code 0 is the acknowledgement.
const ERROR: u16 = 2;

/// `TASKSTATS_TYPE_STATS`, `…_AGGR_PID` and `…_AGGR_TGID`.
const STATS: u16 = 3;
const OF_TASK: u16 = 4;
const OF_PROCESS: u16 = 5;

/// `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;
/// `struct genlmsghdr`.
const GENERIC_BYTES: usize = 4;
/// `struct nlattr`.
const ATTRIBUTE_BYTES: usize = 4;
/// Flags in the type of an attribute.
const TYPE_MASK: u16 = 0x3fff;

/// A request with one attribute.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The number of the family.
    pub family: u16,
    /// Beyond that it is a request.
    pub flags: u16,
    /// Comes back with the answer.
    pub sequence: u32,
    /// What is to be done.
    pub command: u8,
    /// The type of the attribute.
    pub attribute: u16,
    /// And what is in it.
    pub payload: &'a [u8],
}

impl Request<'_> {
    /// Appends it to what is to be sent.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        let attribute_bytes = ATTRIBUTE_BYTES + self.payload.len();
        let length = HEADER_BYTES + GENERIC_BYTES + aligned(attribute_bytes);
        let end = bytes.len() + length;
        bytes.extend_from_slice(&(length as u32).to_ne_bytes());
        bytes.extend_from_slice(&self.family.to_ne_bytes());
        bytes.extend_from_slice(&(REQUEST | self.flags).to_ne_bytes());
        bytes.extend_from_slice(&self.sequence.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]); // the sender's port: the kernel knows it
        bytes.extend_from_slice(&[self.command, 1, 0, 0]);
        bytes.extend_from_slice(&(attribute_bytes as u16).to_ne_bytes());
        bytes.extend_from_slice(&self.attribute.to_ne_bytes());
        bytes.extend_from_slice(self.payload);
        bytes.resize(end, 0);
    }
}

/// A message from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message<'a> {
    /// Of the request it answers; of a report, how many its CPU has made.
    pub sequence: u32,
    /// What it says.
    pub body: Body<'a>,
}

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Body<'a> {
    /// The error of a request, positive; 0 where it was done.
    Outcome(i32),
    /// The number of the family asked for.
    Family(u16),
    /// Figures, not decoded: of a task and, at the death of a process, of the process.
    Figures(Figures<'a>),
    /// Something else.
    Other,
}

/// The structs of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Figures<'a> {
    /// That of a task.
    pub task: Option<&'a [u8]>,
    /// That of a process.
    pub process: Option<&'a [u8]>,
}

/// Hands out the messages of one datagram.
///
/// # Errors
/// When it is not made of whole messages.
pub fn for_each<'a>(
    mut datagram: &'a [u8],
    family: u16,
    mut each: impl FnMut(Message<'a>),
) -> Result<(), Unknown> {
    while !datagram.is_empty() {
        let length = u32::from_ne_bytes(chunk(datagram, 0)?) as usize;
        let message = datagram.get(..length).filter(|message| message.len() >= HEADER_BYTES);
        let message = message.ok_or(Unknown::Nothing)?;
        let kind = u16::from_ne_bytes(chunk(message, 4)?);
        let sequence = u32::from_ne_bytes(chunk(message, 8)?);
        let body = match kind {
            ERROR => Body::Outcome(i32::from_ne_bytes(chunk(message, HEADER_BYTES)?).saturating_neg()),
            CONTROLLER => family_of(payload(message)?)?,
            _ if kind == family => Body::Figures(figures_of(payload(message)?)?),
            _ => Body::Other,
        };
        each(Message { sequence, body });
        datagram = datagram.get(aligned(length)..).unwrap_or_default();
    }
    Ok(())
}

/// What follows the two headers.
fn payload(message: &[u8]) -> Result<&[u8], Unknown> {
    message.get(HEADER_BYTES + GENERIC_BYTES..).ok_or(Unknown::Nothing)
}

fn family_of(attributes: &[u8]) -> Result<Body<'_>, Unknown> {
    let mut body = Body::Other;
    for_each_attribute(attributes, |kind, value| {
        if kind == FAMILY_ID {
            body = Body::Family(u16::from_ne_bytes(chunk(value, 0)?));
        }
        Ok(())
    })?;
    Ok(body)
}

fn figures_of(attributes: &[u8]) -> Result<Figures<'_>, Unknown> {
    let mut figures = Figures::default();
    for_each_attribute(attributes, |kind, nest| {
        let place = match kind {
            OF_TASK => &mut figures.task,
            OF_PROCESS => &mut figures.process,
            _ => return Ok(()), // padding
        };
        for_each_attribute(nest, |kind, value| {
            if kind == STATS {
                *place = Some(value);
            }
            Ok(())
        })
    })?;
    Ok(figures)
}

fn for_each_attribute<'a>(
    mut bytes: &'a [u8],
    mut each: impl FnMut(u16, &'a [u8]) -> Result<(), Unknown>,
) -> Result<(), Unknown> {
    while !bytes.is_empty() {
        let length = usize::from(u16::from_ne_bytes(chunk(bytes, 0)?));
        let kind = u16::from_ne_bytes(chunk(bytes, 2)?) & TYPE_MASK;
        each(kind, bytes.get(ATTRIBUTE_BYTES..length).ok_or(Unknown::Nothing)?)?;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    Ok(())
}

fn chunk<const N: usize>(bytes: &[u8], offset: usize) -> Result<[u8; N], Unknown> {
    bytes.get(offset..).and_then(|bytes| bytes.first_chunk()).copied().ok_or(Unknown::Nothing)
}

/// The next multiple of 4.
const fn aligned(bytes: usize) -> usize {
    (bytes + 3) & !3
}
