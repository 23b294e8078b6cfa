//! A ring and its readers, in threads of this process.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use cpuledger_model::make;
use cpuledger_service::ring::{FIRST_WOKEN, Frame, LATER_WOKEN, Next, Reader, Ring, RingError, Size};

mod hostile;

const SMALL: Size = Size { bytes: 4096, frames: 8 };

/// A frame whose bytes all follow from its number, with a length that differs from that of its neighbours.
fn frame_of(sequence: u64, longest: usize) -> Vec<u8> {
    let length = 8 + ((sequence as usize * 2654435761) >> 7) % (longest - 8);
    let mut frame = sequence.to_le_bytes().to_vec();
    frame.extend((8..length).map(|at| (sequence as usize * 31 + at * 7) as u8));
    frame
}

/// The number in a frame that is as [`frame_of`] makes it.
fn checked(frame: &[u8], longest: usize) -> u64 {
    let sequence = u64::from_le_bytes(frame[..8].try_into().expect("eight bytes"));
    assert_eq!(frame, frame_of(sequence, longest), "frame {sequence} is torn");
    sequence
}

#[test]
fn frames_come_in_order_and_the_missed_are_counted() {
    let mut ring = Ring::create("test", SMALL).expect("a ring");
    let mut reader = Reader::open(ring.fd()).expect("a reader");
    let mut frame = Vec::new();
    assert_eq!(reader.copy(&mut frame).expect("no frame"), None);
    assert_eq!(reader.latest(&mut frame).expect("no frame"), None);
    for sequence in 1..=3 {
        assert_eq!(ring.publish(&[sequence as u8; 5]).expect("published"), sequence);
    }
    for sequence in 1..=3 {
        assert_eq!(reader.wait(Duration::ZERO).expect("a wait"), Next::Frame);
        assert_eq!(reader.copy(&mut frame).expect("a frame"), Some(make!(Frame { sequence, missed: 0 })));
        assert_eq!(frame, [sequence as u8; 5]);
    }
    assert_eq!(reader.wait(Duration::from_millis(5)).expect("a wait"), Next::TimedOut);
    while ring.publish(&[]).expect("published") < 20 {}
    assert_eq!(reader.copy(&mut frame).expect("a frame"), Some(make!(Frame { sequence: 13, missed: 9 })));
    assert_eq!(reader.latest(&mut frame).expect("a frame"), Some(make!(Frame { sequence: 20, missed: 0 })));
    assert_eq!(reader.copy(&mut frame).expect("no frame"), None);
    let mut late = Reader::open(ring.fd()).expect("a reader");
    assert_eq!((late.next_number(), late.wait(Duration::ZERO).expect("a wait")), (21, Next::TimedOut));
    assert_eq!(late.latest(&mut frame).expect("a frame"), Some(make!(Frame { sequence: 20, missed: 0 })));
}

/// The data area is short, so that frames lose their bytes before their entry.
#[test]
fn every_length_comes_back_whole() {
    let mut ring = Ring::create("test", Size { bytes: 1000, frames: 64 }).expect("a ring");
    let mut reader = Reader::open(ring.fd()).expect("a reader");
    let (mut frame, longest) = (Vec::new(), ring.longest());
    assert_eq!(longest, 496);
    for length in (0..=longest).chain((0..=longest).rev()) {
        let bytes: Vec<u8> = (0..length).map(|at| (at * 11 + length) as u8).collect();
        let sequence = ring.publish(&bytes).expect("published");
        assert_eq!(reader.copy(&mut frame).expect("a frame"), Some(make!(Frame { sequence, missed: 0 })));
        assert_eq!(frame, bytes);
    }
    let error = ring.publish(&vec![0; longest + 1]).expect_err("too long");
    assert!(matches!(error, RingError::TooLong { length: 497, longest: 496 }), "{error}");
    assert!(error.to_string().ends_with("make a larger one"), "{error}");
    assert_eq!(ring.publish(b"fine").expect("the ring is as it was"), 995);
}

#[test]
fn a_successor_goes_on_where_the_old_ring_ended() {
    let mut old = Ring::create("test", SMALL).expect("a ring");
    let mut reader = Reader::open(old.fd()).expect("a reader");
    while old.publish(&frame_of(old.next_number(), 200)).expect("published") < 20 {}
    let kept = Reader::open(old.fd()).expect("a reader of the kept descriptor");
    let size = Size { bytes: 64 << 10, frames: 16 };
    let mut new = Ring::successor("test", size, &kept).expect("a successor");
    old.retire();
    assert_eq!(
        reader.copy(&mut Vec::new()).expect("a frame"),
        Some(make!(Frame { sequence: 13, missed: 12 }))
    );
    assert!(reader.has_moved());

    let mut next = Reader::open(new.fd()).expect("a reader");
    next.resume_at(reader.next_number());
    assert_eq!(new.publish(&frame_of(21, 200)).expect("published"), 21);
    let mut frame = Vec::new();
    for sequence in 14..=21 {
        assert_eq!(next.copy(&mut frame).expect("a frame"), Some(make!(Frame { sequence, missed: 0 })));
        assert_eq!(checked(&frame, 200), sequence);
    }
}

/// Frames that are left are read first.
#[test]
fn readers_of_a_ring_that_ends_wake_up() {
    let mut ring = Ring::create("test", SMALL).expect("a ring");
    let mut reader = Reader::open(ring.fd()).expect("a reader");
    let waits = thread::spawn(move || {
        let woken = reader.wait(Duration::from_secs(60)).expect("a wait");
        let copied = reader.copy(&mut Vec::new()).expect("a frame");
        (woken, copied, reader.wait(Duration::from_secs(60)).expect("a wait"))
    });
    thread::sleep(Duration::from_millis(20));
    ring.publish(b"last").expect("published");
    drop(ring);
    let (woken, copied, then) = waits.join().expect("the reader");
    assert_eq!((woken, copied.map(|frame| frame.sequence), then), (Next::Frame, Some(1), Next::Moved));
}

/// An owner that publishes without a pause, beside readers that copy: no frame is torn, none comes twice, and the missed are counted.
#[test]
fn an_owner_in_a_hurry_shows_no_torn_frame() {
    let _alone = cpuledger_load::scene::alone();
    let mut ring = Ring::create("test", SMALL).expect("a ring");
    let longest = ring.longest();
    let (is_over, copied) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let mut reader = Reader::open(ring.fd()).expect("a reader");
            let (is_over, copied) = (Arc::clone(&is_over), Arc::clone(&copied));
            thread::spawn(move || {
                let (mut frame, mut last) = (Vec::new(), 0);
                while !is_over.load(Ordering::Relaxed) {
                    let Some(found) = reader.copy(&mut frame).expect("the owner is honest") else { continue };
                    assert_eq!(checked(&frame, longest), found.sequence);
                    assert_eq!(found.sequence, last + 1 + found.missed);
                    last = found.sequence;
                    copied.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let begin = Instant::now();
    let mut published = 0;
    let enough = || copied.load(Ordering::Relaxed) > 100;
    while begin.elapsed() < Duration::from_secs(2) || (!enough() && begin.elapsed() < TIMEOUT) {
        published = ring.publish(&frame_of(published + 1, longest)).expect("published");
    }
    is_over.store(true, Ordering::Relaxed);
    readers.into_iter().for_each(|reader| reader.join().expect("a reader"));
    let copied = copied.load(Ordering::Relaxed);
    println!("{published} frames published, {copied} copied");
    assert!(copied > 100, "only {copied} were copied");
}

/// What the kernel counts as the CPU time of this thread.
fn own_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What frames cost beside readers that all wait.
struct Cost {
    /// CPU time of the owner for a frame: the median.
    owner: Duration,
    /// The longest time after which a reader had a frame.
    longest: Duration,
}

/// Publishes frames beside `readers` readers that all wait. They get each frame from each other: the owner does not look again.
fn cost_of_a_frame(readers: usize) -> Cost {
    const ROUNDS: usize = 41;
    let mut ring = Ring::create("test", SMALL).expect("a ring");
    let all = Arc::new(Barrier::new(readers + 1));
    let longest_ns = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let threads: Vec<_> = (0..readers)
        .map(|_| {
            let mut reader = Reader::open(ring.fd()).expect("a reader");
            let (all, longest_ns) = (Arc::clone(&all), Arc::clone(&longest_ns));
            thread::Builder::new()
                .stack_size(64 << 10)
                .spawn(move || {
                    let mut frame = Vec::new();
                    all.wait();
                    for _ in 0..ROUNDS {
                        assert_eq!(reader.wait(TIMEOUT).expect("a wait"), Next::Frame);
                        let found = reader.copy(&mut frame).expect("honest").expect("a frame");
                        let sent_ns = u64::from_le_bytes(frame[..8].try_into().expect("eight bytes"));
                        longest_ns.fetch_max(begin.elapsed().as_nanos() as u64 - sent_ns, Ordering::Relaxed);
                        assert_eq!(found.missed, 0);
                        all.wait();
                    }
                })
                .expect("a thread")
        })
        .collect();
    all.wait();
    let mut costs: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            thread::sleep(Duration::from_millis(5)); // until they all wait
            let before = own_cpu_time();
            ring.publish(&(begin.elapsed().as_nanos() as u64).to_le_bytes()).expect("published");
            let cost = own_cpu_time() - before;
            all.wait();
            cost
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a reader"));
    costs.sort();
    Cost { owner: costs[ROUNDS / 2], longest: Duration::from_nanos(longest_ns.load(Ordering::Relaxed)) }
}

/// A reader that has not been woken finds the frame when this is over.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Waking is most of what a frame costs. The owner wakes two readers, and these wake all others: none is left to its timeout.
#[test]
fn readers_wake_each_other() {
    let _alone = cpuledger_load::scene::alone();
    for readers in [8, 1000] {
        let Cost { owner, longest } = cost_of_a_frame(readers);
        println!(
            "{readers} readers: a frame costs the owner {owner:?}; the last reader has it after {longest:?}"
        );
        assert!(longest < TIMEOUT, "one of {readers} readers was not woken");
    }
}

/// A thread that says when it is about to sleep; returns when it sleeps.
fn spawn_and_sleep<T: Send + 'static>(
    run: impl FnOnce(&dyn Fn()) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let (tell, told) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let tid = rustix::thread::gettid().as_raw_pid();
        run(&|| tell.send(tid).expect("it is awaited"))
    });
    let tid = told.recv().expect("it is about to sleep");
    let (stat, begin) = (format!("/proc/self/task/{tid}/stat"), Instant::now());
    while !std::fs::read_to_string(&stat).expect("it lives").contains(") S ") {
        assert!(begin.elapsed() < TIMEOUT, "it does not sleep");
        thread::sleep(Duration::from_millis(1));
    }
    thread
}

/// Readers that keep a wake to themselves leave others asleep. The owner's second look wakes these.
#[test]
fn readers_that_do_not_pass_it_on_delay_no_other() {
    use rustix::thread::futex;

    const HOARDERS: usize = 100;
    let _alone = cpuledger_load::scene::alone();
    let mut ring = Ring::create("test", SMALL).expect("a ring");
    let reader = Reader::open(ring.fd()).expect("a reader");
    let fd = ring.fd().try_clone_to_owned().expect("a descriptor");
    // It sleeps on the futex as a reader does, more of it than the owner wakes, and does nothing when it wakes.
    let hoarders: Vec<_> = (0..HOARDERS)
        .map(|_| {
            let fd = fd.try_clone().expect("a descriptor");
            spawn_and_sleep(move |is_ready| {
                let page = page_of(&fd);
                let value = page.futex().load(Ordering::Relaxed);
                is_ready();
                let _ = futex::wait(page.futex(), futex::Flags::empty(), value, None);
            })
        })
        .collect();
    let waits = spawn_and_sleep(move |is_ready| {
        is_ready();
        (reader.wait(TIMEOUT).expect("a wait"), Instant::now())
    });
    let begin = Instant::now();
    ring.publish(b"frame").expect("published");
    thread::sleep(Duration::from_millis(1));
    let mut woken_later = Vec::new();
    while woken_later.last() != Some(&0) {
        woken_later.push(ring.wake_rest());
    }
    let sum: usize = woken_later.iter().sum();
    assert_eq!(sum + FIRST_WOKEN as usize, HOARDERS + 1, "{woken_later:?}");
    assert!(woken_later.iter().all(|&woken| woken <= LATER_WOKEN as usize), "{woken_later:?}");
    let (next, woken) = waits.join().expect("the reader");
    assert_eq!(next, Next::Frame);
    assert!(woken - begin < TIMEOUT, "{:?}", woken - begin);
    hoarders.into_iter().for_each(|hoarder| hoarder.join().expect("a hoarder"));
}

/// A hostile reader moves the others to a futex of its own. They are late, not lost.
#[test]
fn readers_that_are_moved_away_find_the_frame_at_their_timeout() {
    use rustix::thread::futex;

    let mut ring = Ring::create("test", SMALL).expect("a ring");
    let reader = Reader::open(ring.fd()).expect("a reader");
    let page = page_of(ring.fd());
    let begin = Instant::now();
    // Longer than a busy machine keeps this thread from moving it.
    let timeout = Duration::from_secs(3);
    let waits = spawn_and_sleep(move |is_ready| {
        is_ready();
        reader.wait(timeout).expect("a wait")
    });
    let elsewhere = std::sync::atomic::AtomicU32::new(0);
    let moved = futex::requeue(page.futex(), futex::Flags::empty(), 0, 100, &elsewhere).expect("requeued");
    assert_eq!(moved, 1, "the kernel allows it");
    ring.publish(b"frame").expect("published");
    ring.wake_rest();
    assert_eq!(waits.join().expect("the reader"), Next::Frame);
    assert!(begin.elapsed() >= timeout, "{:?}", begin.elapsed());
}

fn page_of(ring: impl std::os::fd::AsFd) -> hostile::Page {
    use rustix::mm::{MapFlags, ProtFlags};
    hostile::Page::new(ring, ProtFlags::READ, MapFlags::SHARED).expect("a reader maps it")
}

/// The role of a hostile process: which user it is says the test below, and the descriptor is its standard input.
const HOSTILE: &str = "CPULEDGER_TEST_HOSTILE";

#[test]
fn role_of_a_hostile_reader() {
    if std::env::var_os(HOSTILE).is_none() {
        return; // It is a test only when the one below starts it.
    }
    let fd = rustix::io::dup(std::io::stdin()).expect("a descriptor");
    let attempts = hostile::attempts(&fd);
    for (attempt, answer) in &attempts {
        println!("\n{attempt}: {answer:?}");
    }
    let done: Vec<_> = attempts.iter().filter(|(_, answer)| answer.is_ok()).collect();
    assert!(done.is_empty(), "{done:?}");
}

/// Beside an owner that goes on.
#[test]
fn hostile_readers_can_do_nothing_root() {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    if !rustix::process::geteuid().is_root() {
        return cpuledger_load::not_run("it takes root to be another user: run it as root");
    }
    let mut ring = Ring::create("test", SMALL).expect("a ring");
    let mut reader = Reader::open(ring.fd()).expect("a reader");
    let fd = ring.fd().try_clone_to_owned().expect("a descriptor");
    let output = Command::new("/proc/self/exe")
        .args(["--exact", "role_of_a_hostile_reader", "--nocapture"])
        .env(HOSTILE, "1")
        .current_dir("/")
        .stdin(Stdio::from(fd))
        .uid(65534)
        .gid(65534)
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.matches(": Err(").count(), 9, "{said}");

    let sequence = ring.publish(b"as before").expect("published");
    let mut frame = Vec::new();
    assert_eq!(reader.copy(&mut frame).expect("a frame"), Some(make!(Frame { sequence, missed: 0 })));
    assert_eq!(frame, b"as before");
}

/// The memory of a file, in bytes.
fn memory_of(fd: impl std::os::fd::AsFd) -> u64 {
    512 * rustix::fs::fstat(fd).expect("a file").st_blocks.unsigned_abs()
}

/// A reader that keeps the descriptor and the mapping of a ring keeps no memory of its owner.
#[test]
fn the_memory_of_a_ring_goes_back_though_readers_keep_it() {
    let mut ring = Ring::create("test", Size { bytes: 1 << 20, frames: 64 }).expect("a ring");
    let kept = ring.fd().try_clone_to_owned().expect("a descriptor");
    let mut reader = Reader::open(&kept).expect("a reader");
    ring.publish(b"frame").expect("published");
    assert!(memory_of(&kept) >= 1 << 20, "{}", memory_of(&kept));
    let retired = ring.retire();
    assert_eq!(reader.wait(TIMEOUT).expect("a wait"), Next::Frame, "it may still be copied");
    retired.free().expect("freed");
    assert_eq!(memory_of(&kept), 0);
    assert_eq!(reader.wait(TIMEOUT).expect("a wait"), Next::Moved);
    assert_eq!(reader.copy(&mut Vec::new()).expect("nothing"), None);
    assert_eq!(reader.latest(&mut Vec::new()).expect("nothing"), None);
    assert!(reader.has_moved());
    assert!(matches!(Reader::open(&kept), Err(RingError::Ended)));
}

/// Readers copy while the memory goes back: none takes zeros for a frame, and each learns the end.
#[test]
fn a_ring_that_ends_beside_readers_shows_no_torn_frame() {
    let _alone = cpuledger_load::scene::alone();
    for _ in 0..200 {
        let mut ring = Ring::create("test", Size { bytes: 64 << 10, frames: 8 }).expect("a ring");
        let longest = ring.longest();
        for sequence in 1..=8 {
            ring.publish(&frame_of(sequence, longest)).expect("published");
        }
        let begun = Arc::new(Barrier::new(3));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let mut reader = Reader::open(ring.fd()).expect("a reader");
                let begun = Arc::clone(&begun);
                thread::spawn(move || {
                    let mut frame = Vec::new();
                    begun.wait();
                    loop {
                        if reader.latest(&mut frame).expect("the owner is honest").is_some() {
                            checked(&frame, longest);
                        } else if reader.wait(TIMEOUT).expect("a wait") == Next::Moved {
                            return;
                        }
                    }
                })
            })
            .collect();
        begun.wait();
        ring.retire().free().expect("freed");
        readers.into_iter().for_each(|reader| reader.join().expect("a reader"));
    }
}

#[test]
fn intervals_that_are_left_out_are_missed() {
    let mut ring = Ring::create("test", SMALL).expect("a ring");
    let mut reader = Reader::open(ring.fd()).expect("a reader");
    ring.publish(b"1").expect("published");
    (2..=20).for_each(|_| ring.skip());
    assert_eq!(ring.publish(b"21").expect("published"), 21);
    let mut frame = Vec::new();
    assert_eq!(reader.copy(&mut frame).expect("a frame"), Some(make!(Frame { sequence: 21, missed: 20 })));
    assert_eq!(frame, b"21");
}
