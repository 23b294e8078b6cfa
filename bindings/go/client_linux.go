package cpuledger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
)

const (
	// DefaultSocket is the path of the control socket.
	DefaultSocket = "/run/cpuledger/io.cpuledger.Ledger"
	// SocketVariable is the environment variable with the path of another one.
	SocketVariable = "CPULEDGER_SOCKET"
	// serviceUser is the user that the service may run as, beside root.
	serviceUser = "cpuledger"
	// initialPIDNamespace is where tasks have the numbers that the service tells.
	initialPIDNamespace = "pid:[4026531836]"
)

// Client calls the service. It is for any number of goroutines: their calls go one after the other. A call waits for as long as its context.
type Client struct {
	path string
	// turn has one place, which a call takes: others wait for it as long as their contexts.
	turn chan struct{}
	// connection is nil until there is a call. It belongs to the call that has the turn.
	connection *connection
	// open ends when the client is closed.
	open context.Context
	end  context.CancelFunc
}

// Connect connects to the service at a socket; "": that of $CPULEDGER_SOCKET or, without it, [DefaultSocket].
//
// It fails where nothing answers; where the usual socket is that of another user than root and cpuledger; and in a container with PIDs of its own, because
// the pids of the service are those of the host.
func Connect(ctx context.Context, path string) (*Client, error) {
	if path == "" {
		path = socketPath()
	}
	client := &Client{path: path, turn: make(chan struct{}, 1)}
	client.open, client.end = context.WithCancel(context.Background())
	if _, err := client.Info(ctx); err != nil {
		_ = client.Close()
		return nil, err
	}
	return client, nil
}

// Close ends the connection. Calls that wait fail with [net.ErrClosed], as later ones do. Loops over [Client.Intervals] have connections of their own, and go on.
func (c *Client) Close() error {
	c.end()
	// No call keeps it for long now.
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.drop()
	return nil
}

func (c *Client) drop() {
	if c.connection != nil {
		c.connection.close()
		c.connection = nil
	}
}

// call calls a method by the connection of the client, which is made anew where the service has closed it. The context ends when the client is closed, too.
func (c *Client) call(ctx context.Context, each func(context.Context, *connection) error) error {
	if c.open.Err() != nil {
		return net.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.open, func() { cancel(net.ErrClosed) })()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return fmt.Errorf("the service has not answered calls before this one: %w", context.Cause(ctx))
	}
	for {
		isOld := c.connection != nil
		if !isOld {
			connection, err := connectChecked(ctx, c.path)
			if err != nil {
				return err
			}
			c.connection = connection
		}
		err := each(ctx, c.connection)
		var refusal *Refusal
		if (err == nil || errors.As(err, &refusal)) && ctx.Err() == nil {
			return err
		}
		// What is left of an answer would be taken for that of the next call.
		c.drop()
		if !isOld || !errors.Is(err, errClosed) {
			return err
		}
	}
}

// connectChecked connects, where the pids of the service are those that this process sees.
func connectChecked(ctx context.Context, path string) (*connection, error) {
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return nil, fmt.Errorf("the PID namespace of this process is not known: %w", err)
	}
	if namespace != initialPIDNamespace {
		return nil, errors.New("the service uses the pids of the host's PID namespace, and this process runs in another one: " +
			"run it on the host, or in a container with the PID namespace of the host")
	}
	if err := checkClocks(); err != nil {
		return nil, err
	}
	return dial(ctx, path)
}

// checkClocks refuses a time namespace that shifts the clocks, where /proc says so: the service tells times of the kernel's.
func checkClocks() error {
	offsets, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil {
		return nil // nothing says so
	}
	for _, line := range strings.Split(string(offsets), "\n") {
		if words := strings.Fields(line); len(words) == 3 && (words[1] != "0" || words[2] != "0") {
			return errors.New("the service tells times of the kernel's clocks, and the time namespace of this process shifts them: run it outside")
		}
	}
	return nil
}

func isServiceUser(uid uint32) bool {
	found, err := user.Lookup(serviceUser)
	return err == nil && found.Uid == strconv.FormatUint(uint64(uid), 10)
}

// Info is what the service is, and what this caller may have.
type Info struct {
	// Version is that of cpuledger.
	Version string `json:"version"`
	// BootID is the identity of this boot of the machine.
	BootID string `json:"boot_id"`
	// IntervalNs is the interval that frames have at present.
	IntervalNs int64 `json:"interval_ns"`
	// ShortestIntervalNs is the shortest that a caller may ask for.
	ShortestIntervalNs int64 `json:"shortest_interval_ns"`
	// Audiences are those that this caller may have, the widest first: all, proc, self.
	Audiences []string `json:"audiences"`
	// Source is where the figures come from.
	Source SourceFacts `json:"source"`
	// Recording is the directory that the service records to; nil: it does not, or is older.
	Recording *string `json:"recording"`
	// UnbalancedIntervals is how many intervals did not add up: 0, or cpuledger has an error. nil: not known.
	UnbalancedIntervals *int64 `json:"unbalanced_intervals"`
}

// SourceFacts say where the figures come from.
type SourceFacts struct {
	// Source is what closes the intervals.
	Source string `json:"source"`
	// AttachedSinceNs is when it was attached, by CLOCK_MONOTONIC; nil: nothing is attached.
	AttachedSinceNs *int64 `json:"attached_since_ns"`
	// Unseen is what it cannot see on this machine, a sentence each.
	Unseen []string `json:"unseen"`
}

// Info asks the service what it is.
func (c *Client) Info(ctx context.Context) (*Info, error) {
	info := new(Info)
	err := c.call(ctx, func(ctx context.Context, connection *connection) error {
		return connection.plain(ctx, "Info", struct{}{}, info)
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

// plain calls a method whose reply has no descriptors.
func (c *connection) plain(ctx context.Context, method string, parameters, result any) error {
	descriptors, err := c.call(ctx, method, parameters, result, false)
	closeAll(descriptors)
	return err
}

// DescribedField is a field that a row may have, as the service describes it.
type DescribedField struct {
	// Key is its name in frames, JSON and CSV.
	Key string `json:"key"`
	// Unit is none, count, ns or bytes.
	Unit string `json:"unit"`
	// Help is what it tells.
	Help string `json:"help"`
}

// Describe asks which fields rows of listings may have.
func (c *Client) Describe(ctx context.Context) ([]DescribedField, error) {
	var result struct {
		Fields []DescribedField `json:"fields"`
	}
	err := c.call(ctx, func(ctx context.Context, connection *connection) error {
		return connection.plain(ctx, "Describe", struct{}{}, &result)
	})
	return result.Fields, err
}

// Scope is which tasks a listing has.
type Scope string

const (
	// Leaders is the leader of each process, without a look at its threads.
	Leaders Scope = "leaders"
	// Processes is each process, with the sums over its threads.
	Processes Scope = "processes"
	// Tasks is each process, and each of its tasks.
	Tasks Scope = "tasks"
)

// Listing asks for the tasks that there are, with these fields of each beside tid, pid and start: one frame of no length.
func (c *Client) Listing(ctx context.Context, scope Scope, wanted ...Field) (*Frame, error) {
	keys := make([]string, len(wanted))
	for index, field := range wanted {
		keys[index] = field.Name()
	}
	parameters := struct {
		Scope  Scope    `json:"scope"`
		Fields []string `json:"fields"`
	}{scope, keys}
	var bytes []byte
	err := c.call(ctx, func(ctx context.Context, connection *connection) error {
		var result struct {
			Length uint64 `json:"length"`
		}
		descriptors, err := connection.call(ctx, "List", parameters, &result, true)
		closeAll(descriptors)
		if err != nil {
			return err
		}
		bytes, err = connection.bytesBehind(ctx, result.Length)
		return err
	})
	if err != nil {
		return nil, err
	}
	return Decode(bytes)
}
