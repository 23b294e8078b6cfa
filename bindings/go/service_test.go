//go:build linux

package cpuledger

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// programVariable names the program cpuledger, with which these tests start a service. They need root.
const programVariable = "CPULEDGER_TEST_PROGRAM"

// patient is for anything that does not take long.
const patient = 2 * time.Minute

// service is one in a folder of its own.
type service struct {
	program, socket string
	process         *exec.Cmd
}

func startService(t *testing.T) *service {
	t.Helper()
	program := os.Getenv(programVariable)
	if program == "" {
		t.Skipf("no service: run as root with %s=/path/to/cpuledger", programVariable)
	}
	s := &service{program: program, socket: filepath.Join(t.TempDir(), "socket")}
	s.start(t)
	t.Cleanup(s.stop)
	return s
}

func (s *service) start(t *testing.T) {
	t.Helper()
	config := filepath.Join(filepath.Dir(s.socket), "config.toml")
	if err := os.WriteFile(config, []byte("# the defaults\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.process = exec.Command(s.program, "serve", "--interval", "0.2", "--config", config, "--socket", s.socket)
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), patient)
		_, err := Connect(ctx, s.socket)
		cancel()
		if err == nil {
			return
		}
		if time.Since(begin) > patient {
			t.Fatal(err)
		}
	}
}

func (s *service) stop() {
	if s.process != nil {
		_ = s.process.Process.Signal(syscall.SIGTERM)
		_ = s.process.Wait()
		s.process = nil
	}
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	t.Cleanup(cancel)
	return ctx
}

func connect(t *testing.T, s *service) *Client {
	t.Helper()
	client, err := Connect(limited(t), s.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// work keeps the machine a little busy, with processes that end.
func work(t *testing.T) {
	t.Helper()
	shell := exec.Command("sh", "-c", "while :; do /bin/true; done")
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = shell.Process.Kill()
		_ = shell.Wait()
	})
}

func assertBalance(t *testing.T, interval *Interval) {
	t.Helper()
	figures := interval.Figures()
	booked := figures.AttributedNs().Or(0) + figures.IdleNs().Or(0) + figures.UnattributedNs().Or(0)
	if capacity, known := figures.CapacityNs().Get(); !known || capacity == 0 || booked != capacity {
		t.Fatalf("%d ns are booked of %v", booked, figures.CapacityNs())
	}
	sum := uint64(0)
	for process := range interval.Processes().All() {
		sum += process.CPUNs().Or(0)
	}
	if sum != figures.AttributedNs().Or(0) {
		t.Fatalf("the processes have %d ns of %v", sum, figures.AttributedNs())
	}
}

// keysOfRows are those of JSON whose names and meanings are those of fields, or of what a counter grew by.
var keysOfRows = map[string]Field{
	"ppid": FieldPPID, "start_time_ns": FieldStartTimeNs, "uid": FieldUID, "threads": FieldThreads, "cpu_ns": FieldCPUNs, "self_ns": FieldSelfNs,
	"exited_threads_ns": FieldExitedThreadsNs, "exited_children_ns": FieldExitedChildrenNs, "stolen_ns": FieldStolenNs,
	"self_user_ns": FieldSelfUserNs, "user_ns": FieldGrownUserNs, "system_ns": FieldGrownSystemNs, "blocked_ns": FieldBlockedNs, "sleep_ns": FieldSleepNs,
	"io_wait_ns": FieldIOWaitNs, "stopped_ns": FieldStoppedNs, "unseen_ns": FieldUnseenNs, "elapsed_ns": FieldElapsedNs, "nice": FieldNice,
	"priority": FieldPriority, "accounting_ppid": FieldAccountingPPID, "minor_faults": FieldGrownMinorFaults, "rss_bytes": FieldRSSBytes,
	"voluntary_switches": FieldGrownVoluntarySwitches, "exit_signal": FieldExitSignal,
}

var keysOfInterval = map[string]Field{
	"end_ns": FieldEndNs, "online_cpus": FieldOnlineCPUs, "capacity_ns": FieldCapacityNs, "attributed_ns": FieldAttributedNs, "idle_ns": FieldIdleNs,
	"unattributed_ns": FieldUnattributedNs, "blocked_tasks": FieldBlockedTasks, "missed_switches": FieldMissedSwitches,
}

// inJSON is a figure as JSON has it.
func inJSON(row Row, field Field) string {
	if field.Kind() == Signed {
		return strings.Replace(row.Signed(field).String(), "-", "null", map[bool]int{true: 0, false: 1}[row.Signed(field).IsKnown()])
	}
	if ns, known := row.Unsigned(field).Get(); known {
		digits, _ := json.Marshal(ns)
		return string(digits)
	}
	return "null"
}

func compareRows(t *testing.T, what string, row Row, object map[string]json.RawMessage, keys map[string]Field) {
	t.Helper()
	for key, field := range keys {
		if told, own := string(object[key]), inJSON(row, field); told != own {
			t.Fatalf("%s of %s: %s by top, %s by the client", key, what, told, own)
		}
	}
}

func TestIntervalsAreThoseOfTop(t *testing.T) {
	s := startService(t)
	work(t)
	client := connect(t, s)
	ours := map[uint64]*Interval{}
	ctx, cancel := context.WithCancel(limited(t))
	hasBegun, hasEnded := make(chan struct{}), make(chan error)
	go func() {
		var failure error
		for interval, err := range client.Intervals(ctx, 0) {
			if err != nil {
				failure = err
				break
			}
			if len(ours) == 0 {
				close(hasBegun)
			}
			ours[interval.Figures().StartNs().Or(0)] = interval
		}
		hasEnded <- failure
	}()
	<-hasBegun
	theirs := append(intervalsOfTop(t, s, "0.2"), intervalsOfTop(t, s, "0.7")...)
	time.Sleep(time.Second) // what has come is taken
	cancel()
	if failure := <-hasEnded; !errors.Is(failure, context.Canceled) {
		t.Fatal(failure)
	}
	compared, merged := 0, 0
	for _, interval := range theirs {
		var start, end uint64
		if err := errors.Join(json.Unmarshal(interval["start_ns"], &start), json.Unmarshal(interval["end_ns"], &end)); err != nil {
			t.Fatal(err)
		}
		// Those of top are merged of as many frames.
		own, count := ours[start], 1
		for own != nil && own.Figures().EndNs().Or(0) < end {
			next := ours[own.Figures().EndNs().Or(0)]
			if next == nil {
				own = nil
				break
			}
			frame, err := own.Merge(next.Frame)
			if err != nil {
				t.Fatal(err)
			}
			own, count = &Interval{Frame: frame}, count+1
		}
		if own != nil && own.Figures().EndNs().Or(0) == end {
			compareIntervals(t, own, interval)
			if compared++; count > 1 {
				merged++
			}
		}
	}
	if compared < 8 || merged < 4 {
		t.Fatalf("%d of 16 intervals of top are those of the client, %d of them merged", compared, merged)
	}
}

// intervalsOfTop are eight of this length.
func intervalsOfTop(t *testing.T, s *service, delay string) []map[string]json.RawMessage {
	t.Helper()
	top := exec.Command(s.program, "top", "--batch", "-n", "8", "-d", delay, "--source", "service", "--format", "json")
	top.Env = append(os.Environ(), SocketVariable+"="+s.socket)
	top.Stderr = os.Stderr
	output, err := top.Output()
	if err != nil {
		t.Fatal(err)
	}
	var intervals []map[string]json.RawMessage
	for _, line := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		var interval map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &interval); err != nil {
			t.Fatal(err)
		}
		intervals = append(intervals, interval)
	}
	if len(intervals) != 8 {
		t.Fatalf("%d intervals", len(intervals))
	}
	return intervals
}

func TestIntervalsAreMergedToTheirLength(t *testing.T) {
	client := connect(t, startService(t))
	count, end := 0, uint64(0)
	for interval, err := range client.Intervals(limited(t), 700*time.Millisecond) {
		if err != nil {
			t.Fatal(err)
		}
		assertBalance(t, interval)
		if begin := interval.Figures().StartNs().Or(0); end != 0 && begin != end+interval.MissingNs {
			t.Fatalf("from %d to %d, and %d are missing", end, begin, interval.MissingNs)
		}
		end = interval.Figures().EndNs().Or(0)
		// A busy machine closes an interval late, and then it is longer.
		if length := interval.LengthNs().Or(0); length < 550_000_000 {
			t.Fatalf("%d ns", length)
		}
		if count++; count == 4 {
			break
		}
	}
	if frames := frameLength(2500*time.Millisecond, time.Second, 0); frames != 2500*time.Millisecond/3 {
		t.Fatal(frames)
	}
	if frames := frameLength(3*time.Second, time.Second, 0); frames != 3*time.Second {
		t.Fatal(frames)
	}
}

func compareIntervals(t *testing.T, own *Interval, theirs map[string]json.RawMessage) {
	t.Helper()
	assertBalance(t, own)
	compareRows(t, "the interval", own.Figures(), theirs, keysOfInterval)
	var processes, exited []map[string]json.RawMessage
	if err := json.Unmarshal(theirs["processes"], &processes); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(theirs["exited"], &exited); err != nil {
		t.Fatal(err)
	}
	if len(processes) < 2 || len(exited) != own.Exited().Len() {
		t.Fatalf("%d processes, %d dead by top and %d by the client", len(processes), len(exited), own.Exited().Len())
	}
	ofPid := map[string]Row{}
	for process := range own.Processes().All() {
		ofPid[inJSON(process, FieldPID)] = process
	}
	for _, process := range processes {
		row, isThere := ofPid[string(process["pid"])]
		if !isThere {
			t.Fatalf("process %s is missing", process["pid"])
		}
		compareRows(t, "process "+string(process["pid"]), row, process, keysOfRows)
		var comm string
		if err := json.Unmarshal(process["comm"], &comm); err != nil || comm != row.Comm().Or("?") {
			t.Fatalf("process %s is %q by top, %v by the client", process["pid"], comm, row.Comm())
		}
	}
	if own.Figures().KnowsExits().Or(0) != 1 || own.Exited().Len() == 0 {
		t.Fatal("it sees exits, and processes have ended")
	}
}

func TestLatestAndListingAreThereAtOnce(t *testing.T) {
	client := connect(t, startService(t))
	var latest *Interval
	for latest == nil {
		var err error
		if latest, err = client.Latest(limited(t)); err != nil {
			t.Fatal(err)
		}
	}
	assertBalance(t, latest)
	for _, scope := range []Scope{Leaders, Processes, Tasks} {
		listing, err := client.Listing(limited(t), scope, FieldComm, FieldPPID, FieldRuntimeNs)
		if err != nil {
			t.Fatal(err)
		}
		var own Row
		for process := range listing.Processes().All() {
			if process.PID().Or(0) == int64(os.Getpid()) {
				own = process
			}
		}
		if own.PPID().Or(0) != int64(os.Getppid()) || !strings.HasPrefix(own.Comm().Or("?"), "go") {
			t.Fatalf("%s: this process is %v of %v", scope, own.Comm(), own.PPID())
		}
		// Without a look at its threads, it is not known what a process has used.
		if own.RuntimeNs().Or(0) == 0 && scope != Leaders {
			t.Fatalf("%s: this process ran %v", scope, own.RuntimeNs())
		}
		hasTasks := listing.Tasks().Len() >= listing.Processes().Len()
		if own.UID().IsKnown() || hasTasks != (scope == Tasks) {
			t.Fatalf("%s has %d tasks", scope, listing.Tasks().Len())
		}
	}
	fields, err := client.Describe(limited(t))
	if err != nil || len(fields) < 40 {
		t.Fatalf("%d fields, %v", len(fields), err)
	}
	for _, described := range fields {
		if field, isThere := FieldByName(described.Key); !isThere || field.Help() != described.Help {
			t.Fatal(described)
		}
	}
}

func TestAServiceThatIsRestartedIsJoinedAgain(t *testing.T) {
	s := startService(t)
	client := connect(t, s)
	count, gaps, end := 0, 0, uint64(0)
	for interval, err := range client.Intervals(limited(t), 0) {
		if err != nil {
			t.Fatal(err)
		}
		assertBalance(t, interval)
		begin := interval.Figures().StartNs().Or(0)
		if end != 0 && begin != end+interval.MissingNs {
			t.Fatalf("from %d to %d, and %d are missing", end, begin, interval.MissingNs)
		}
		end = interval.Figures().EndNs().Or(0)
		if count++; interval.MissingNs > 0 {
			gaps++
		}
		if count == 3 {
			s.stop()
			s.start(t)
		}
		if count == 6 {
			break
		}
	}
	if gaps != 1 {
		t.Fatalf("%d gaps", gaps)
	}
	// The connection for calls is made anew.
	if _, err := client.Info(limited(t)); err != nil {
		t.Fatal(err)
	}
	s.stop()
	begin := time.Now()
	for _, err := range client.Intervals(limited(t), 0) {
		if err == nil {
			t.Fatal("there is no service")
		}
	}
	if time.Since(begin) > time.Second {
		t.Fatal("a service that is not there is told at once")
	}
}

func TestALoopThatIsSlowIsToldWhatIsMissing(t *testing.T) {
	client := connect(t, startService(t))
	info, err := client.Info(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	// More frames than wait and than the ring has.
	const frames = waitingFrames + 64 + 20
	count, missing, end := 0, uint64(0), uint64(0)
	for interval, err := range client.Intervals(limited(t), time.Duration(info.ShortestIntervalNs)) {
		if err != nil {
			t.Fatal(err)
		}
		if begin := interval.Figures().StartNs().Or(0); end != 0 && begin != end+interval.MissingNs {
			t.Fatalf("from %d to %d, and %d are missing", end, begin, interval.MissingNs)
		}
		end, missing = interval.Figures().EndNs().Or(0), missing+interval.MissingNs
		if count++; count == 1 {
			time.Sleep(frames * time.Duration(info.ShortestIntervalNs))
		}
		if count == waitingFrames+10 {
			break
		}
	}
	if missing == 0 {
		t.Fatal("nothing is missing")
	}
}

func TestAContextEndsALoopAtOnceAndNothingIsLeft(t *testing.T) {
	client := connect(t, startService(t))
	before := runtime.NumGoroutine()
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		var canceled time.Time
		time.AfterFunc(300*time.Millisecond, func() {
			canceled = time.Now()
			cancel()
		})
		var last error
		for _, err := range client.Intervals(ctx, 0) {
			last = err
		}
		if !errors.Is(last, context.Canceled) || time.Since(canceled) > 100*time.Millisecond {
			t.Fatalf("%v, %v after it was canceled", last, time.Since(canceled))
		}
		for _, err := range client.Intervals(context.Background(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	for begin := time.Now(); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 10*patience {
			t.Fatalf("%d goroutines more", runtime.NumGoroutine()-before)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || strings.Contains(string(maps), "cpuledger-all") {
		t.Fatalf("a ring is still mapped, %v", err)
	}
}

func TestARefusalHasItsSentence(t *testing.T) {
	client := connect(t, startService(t))
	for _, err := range client.Intervals(limited(t), time.Millisecond) {
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.ShortestInterval != 100*time.Millisecond || !strings.Contains(err.Error(), "shortest interval") {
			t.Fatal(err)
		}
	}
	_, err := client.Listing(limited(t), Scope("all"))
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Name != "org.varlink.service.InvalidParameter" {
		t.Fatal(err)
	}
	// The connection goes on after it.
	if _, err := client.Info(limited(t)); err != nil {
		t.Fatal(err)
	}
}

// What cpuledger has recorded of the service is what the loop has got, each figure of each process.
func TestARecordingIsWhatWasPublished(t *testing.T) {
	s := startService(t)
	work(t)
	client := connect(t, s)
	folder := filepath.Join(t.TempDir(), "recording")
	recorder := exec.Command(s.program, "record", folder, "-d", "0.2", "--source", "service")
	recorder.Env = append(os.Environ(), SocketVariable+"="+s.socket)
	recorder.Stderr = os.Stderr
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	published := map[uint64]*Interval{}
	for interval, err := range client.Intervals(limited(t), 0) {
		if err != nil {
			t.Fatal(err)
		}
		published[interval.Figures().StartNs().Or(0)] = interval
		if len(published) == 20 {
			break
		}
	}
	if err := errors.Join(recorder.Process.Signal(syscall.SIGTERM), recorder.Wait()); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for recorded, err := range Read(folder, time.Time{}, time.Time{}) {
		if err != nil || recorded.MissingNs != 0 {
			t.Fatal(recorded.MissingNs, err)
		}
		assertBalance(t, recorded)
		own := published[recorded.Figures().StartNs().Or(0)]
		if own == nil || own.Figures().EndNs() != recorded.Figures().EndNs() {
			continue
		}
		compared++
		if one, other := usedBy(own.Processes()), usedBy(recorded.Processes()); !maps.Equal(one, other) {
			t.Fatalf("published %v, recorded %v", one, other)
		}
		if own.Exited().Len() != recorded.Exited().Len() || own.Tasks().Len() != recorded.Tasks().Len() {
			t.Fatalf("%d dead and %d tasks were published", own.Exited().Len(), own.Tasks().Len())
		}
	}
	if compared < 5 {
		t.Fatalf("%d recorded intervals are those of the loop", compared)
	}
}

// used is what a test compares of a row.
type used struct {
	comm                           Optional[string]
	cpu, self, threads, growth, at Optional[uint64]
}

func usedBy(rows Rows) map[int64]used {
	of := map[int64]used{}
	for row := range rows.All() {
		of[row.PID().Or(0)] = used{
			row.Comm(), row.CPUNs(), row.SelfNs(), row.ExitedThreadsNs(), row.GrownVoluntarySwitches(), row.StartTimeNs(),
		}
	}
	return of
}
