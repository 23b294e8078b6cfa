package cpuledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	// ledgerInterface is the interface of the service.
	ledgerInterface = "io.cpuledger.Ledger"
	// mostReplyBytes is the length of a reply, without its NUL.
	mostReplyBytes = 1 << 20
	// mostListingBytes is that of a listing.
	mostListingBytes = 1 << 30
	// mostDescriptors come beside one reply.
	mostDescriptors = 4
	receivedAtOnce  = 16 << 10
	// shownCharacters of a sentence of the service are told.
	shownCharacters = 400
)

// Refusal is what the service refuses a call for: an error that its interface declares.
type Refusal struct {
	// Name is the interface, a dot, and the error: io.cpuledger.Ledger.LimitReached.
	Name string
	// Sentence says why, and what would help.
	Sentence string
	// ShortestInterval is the shortest interval that the service grants, with IntervalTooShort.
	ShortestInterval time.Duration
}

// Error returns the sentence of the service in one line.
func (r *Refusal) Error() string {
	if r.Sentence == "" {
		return fmt.Sprintf("the service answers %s", oneLine(r.Name))
	}
	return oneLine(r.Sentence)
}

// oneLine makes one short line of what a service says, which may be any process.
func oneLine(text string) string {
	var line strings.Builder
	count := 0
	for _, character := range text {
		if count++; count > shownCharacters {
			line.WriteString("...")
			break
		}
		quoted := fmt.Sprintf("%+q", character)
		if character >= ' ' && character <= '~' {
			line.WriteRune(character)
		} else {
			line.WriteString(strings.Trim(quoted, "'"))
		}
	}
	return line.String()
}

// connection is one to the control socket.
type connection struct {
	socket *net.UnixConn
	// received was read, and belongs to no message yet.
	received []byte
}

// call is a message to the service.
type call struct {
	Method     string `json:"method"`
	Parameters any    `json:"parameters"`
	Upgrade    bool   `json:"upgrade,omitempty"`
}

// reply is a message of the service.
type reply struct {
	Parameters json.RawMessage `json:"parameters"`
	Error      string          `json:"error"`
}

var errProtocol = errors.New("the service does not follow the protocol")

// dial connects to the socket, and checks whose service it is.
func dial(ctx context.Context, path string) (*connection, error) {
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("no service at %s: %w", path, err)
	}
	c := &connection{socket: socket.(*net.UnixConn)}
	if err := c.checkOwner(path); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *connection) close() { _ = c.socket.Close() }

// checkOwner refuses a service at the usual socket that is neither root's nor its own user's. Another socket is the caller's choice.
func (c *connection) checkOwner(path string) error {
	if path != DefaultSocket {
		return nil
	}
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		peer, asked = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, asked); err != nil {
		return fmt.Errorf("the kernel does not say whose the socket is: %w", err)
	}
	if peer.Uid != 0 && !isServiceUser(peer.Uid) {
		return fmt.Errorf("its socket belongs to user %d, who could show false figures; only root and the user cpuledger are trusted, "+
			"or another socket that $%s names", peer.Uid, SocketVariable)
	}
	return nil
}

// call calls a method, and decodes what it returns into result. The descriptors beside the reply are the caller's.
func (c *connection) call(ctx context.Context, method string, parameters, result any, upgrade bool) (descriptors []int, err error) {
	defer c.watch(ctx)()
	defer func() {
		if err != nil {
			closeAll(descriptors)
			descriptors, err = nil, orCause(ctx, err)
		}
	}()
	message, err := json.Marshal(call{ledgerInterface + "." + method, parameters, upgrade})
	if err != nil {
		return nil, err
	}
	// A service that closes at once, because a limit is reached, has said so before.
	if _, err := c.socket.Write(append(message, 0)); err != nil && !errors.Is(err, syscall.EPIPE) {
		return nil, fmt.Errorf("the connection to the service: %w", err)
	}
	text, descriptors, err := c.message()
	if err != nil {
		return descriptors, err
	}
	var answer reply
	if err := json.Unmarshal(text, &answer); err != nil {
		return descriptors, fmt.Errorf("%w: %w", errProtocol, err)
	}
	if answer.Error != "" {
		return descriptors, refusalOf(&answer)
	}
	if err := json.Unmarshal(answer.Parameters, result); err != nil {
		return descriptors, fmt.Errorf("%w: %w", errProtocol, err)
	}
	return descriptors, nil
}

// watch ends waits for the socket with the context, until the function that it returns is called. A connection whose context has ended is of
// no more use.
func (c *connection) watch(ctx context.Context) (stop func() bool) {
	deadline, _ := ctx.Deadline()
	_ = c.socket.SetDeadline(deadline)
	return context.AfterFunc(ctx, func() { _ = c.socket.SetDeadline(time.Unix(1, 0)) })
}

// orCause is the error, or that of the context where this has ended the wait.
func orCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil && errors.Is(err, os.ErrDeadlineExceeded) {
		cause = context.DeadlineExceeded // the clock of the socket was before that of the context
	}
	if cause != nil {
		return fmt.Errorf("the service has not answered: %w", cause)
	}
	return err
}

func refusalOf(answer *reply) error {
	var says struct {
		Sentence           string `json:"sentence"`
		ShortestIntervalNs int64  `json:"shortest_interval_ns"`
	}
	// A refusal without these is one all the same.
	_ = json.Unmarshal(answer.Parameters, &says)
	return &Refusal{answer.Error, says.Sentence, time.Duration(says.ShortestIntervalNs)}
}

// message reads up to a NUL, with the descriptors that come meanwhile.
func (c *connection) message() (message []byte, descriptors []int, err error) {
	searched := 0
	for {
		if end := bytes.IndexByte(c.received[searched:], 0); end >= 0 {
			message, c.received = c.received[:searched+end], c.received[searched+end+1:]
			return message, descriptors, nil
		}
		if searched = len(c.received); searched > mostReplyBytes {
			return nil, descriptors, fmt.Errorf("%w: a reply of more than %d bytes", errProtocol, mostReplyBytes)
		}
		come, beside, err := c.receive()
		descriptors = append(descriptors, beside...)
		if err != nil {
			return nil, descriptors, err
		}
		c.received = append(c.received, come...)
	}
}

// receive takes what has come.
func (c *connection) receive() (come []byte, descriptors []int, err error) {
	buffer := make([]byte, receivedAtOnce)
	control := make([]byte, syscall.CmsgSpace(4*mostDescriptors))
	count, controlCount, flags, _, err := c.socket.ReadMsgUnix(buffer, control)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return nil, nil, errClosed
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the connection to the service: %w", err)
	}
	if controlCount > 0 {
		messages, err := syscall.ParseSocketControlMessage(control[:controlCount])
		if err != nil {
			return nil, nil, fmt.Errorf("the connection to the service: %w", err)
		}
		for index := range messages {
			if fds, err := syscall.ParseUnixRights(&messages[index]); err == nil {
				descriptors = append(descriptors, fds...)
			}
		}
	}
	if flags&syscall.MSG_CTRUNC != 0 {
		return nil, descriptors, fmt.Errorf("a descriptor of the service is lost: %w", syscall.EMFILE)
	}
	return buffer[:count], descriptors, nil
}

// errClosed says that the service has closed the connection.
var errClosed = errors.New("the service has closed the connection")

// bytesBehind reads bytes that follow a reply.
func (c *connection) bytesBehind(ctx context.Context, length uint64) ([]byte, error) {
	defer c.watch(ctx)()
	if length > mostListingBytes {
		return nil, fmt.Errorf("%w: a listing of %d bytes", errProtocol, length)
	}
	var all bytes.Buffer
	for {
		rest := int(length) - all.Len()
		taken := min(rest, len(c.received))
		all.Write(c.received[:taken])
		c.received = c.received[taken:]
		if taken == rest {
			return all.Bytes(), nil
		}
		come, descriptors, err := c.receive()
		closeAll(descriptors)
		if err != nil {
			return nil, orCause(ctx, err)
		}
		c.received = come
	}
}

func closeAll(descriptors []int) {
	for _, descriptor := range descriptors {
		_ = syscall.Close(descriptor)
	}
}

// socketPath is where the service listens, if nothing else is said.
func socketPath() string {
	if path := os.Getenv(SocketVariable); path != "" {
		return path
	}
	return DefaultSocket
}
