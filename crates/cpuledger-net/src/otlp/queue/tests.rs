use super::*;

fn bodies(queue: &mut Queue) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    while let Some((entry, body)) = queue.first() {
        bodies.push(body.to_vec());
        queue.settle(&entry, true);
    }
    bodies
}

#[test]
fn what_is_not_sent_is_there_after_a_restart_in_its_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("queue");
    let mut queue = Queue::on_disk(&path, 1 << 20).expect("it is made");
    for number in 0..12_u8 {
        assert!(matches!(queue.push(vec![number; 3]), Kept::Whole));
    }
    let (first, _) = queue.first().expect("there are some");
    queue.settle(&first, true);
    let other = Queue::on_disk(&path, 1 << 20).expect_err("it is in use").to_string();
    assert!(other.contains("another"), "{other}");
    drop(queue);
    // What a crash leaves, and what is not ours.
    fs::write(path.join(format!("{}{UNFINISHED}", name_of(50))), b"half").expect("a file");
    fs::write(path.join(name_of(60)), b"").expect("a file");
    fs::write(path.join("notes.txt"), b"mine").expect("a file");
    let mut queue = Queue::on_disk(&path, 1 << 20).expect("it is there");
    queue.push(vec![99; 3]);
    let expected: Vec<Vec<u8>> = (1..12).chain([99]).map(|number| vec![number; 3]).collect();
    assert_eq!(bodies(&mut queue), expected);
    let mut left: Vec<_> =
        fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("one").file_name()).collect();
    left.sort();
    assert_eq!(left, ["lock", "notes.txt"]);
}

#[test]
fn the_oldest_make_room_on_disk_and_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    for mut queue in [Queue::on_disk(folder.path(), 100).expect("it is made"), Queue::in_memory(100)] {
        for number in 0..50_u8 {
            queue.push(vec![number; 30]);
            assert!(queue.bytes() <= 100);
        }
        assert_eq!((queue.len(), queue.dropped()), (3, 47));
        assert_eq!(bodies(&mut queue), (47..50).map(|number| vec![number; 30]).collect::<Vec<_>>());
        queue.push(vec![1; 1000]);
        assert_eq!(bodies(&mut queue), [vec![1; 1000]], "one has room always");
    }
    let mut queue = Queue::in_memory(u64::MAX);
    for _ in 0..20 {
        queue.push(vec![0; 1 << 20]);
    }
    assert_eq!(queue.bytes(), IN_MEMORY_BYTES);
}

#[test]
fn a_disk_that_takes_nothing_stops_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut queue = Queue::on_disk(folder.path(), 1 << 30).expect("it is made");
    queue.push(vec![1; 10]);
    // A folder in its place: neither root nor a full disk gets a file there.
    fs::create_dir(folder.path().join(format!("{}{UNFINISHED}", name_of(2)))).expect("a folder");
    assert!(matches!(queue.push(vec![2; 10]), Kept::InMemory(_)));
    assert!(matches!(queue.push(vec![3; 10]), Kept::Whole));
    assert_eq!(bodies(&mut queue), [vec![1; 10], vec![2; 10], vec![3; 10]]);
}

#[test]
fn a_request_that_is_dropped_while_it_is_sent_is_no_other() {
    let mut queue = Queue::in_memory(20);
    queue.push(vec![1; 10]);
    let (sent, _) = queue.first().expect("one");
    queue.push(vec![2; 10]);
    queue.push(vec![3; 10]);
    queue.settle(&sent, true);
    assert_eq!(bodies(&mut queue), [vec![2; 10], vec![3; 10]]);
}

#[test]
fn a_file_that_has_gone_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut queue = Queue::on_disk(folder.path(), 1 << 20).expect("it is made");
    queue.push(vec![1; 10]);
    queue.push(vec![2; 10]);
    fs::remove_file(folder.path().join(name_of(1))).expect("it is there");
    assert_eq!(bodies(&mut queue), [vec![2; 10]]);
}
