package cpuledger

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answering is a socket whose service does this with each connection.
func answering(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(connection)
		}
	}()
	return path
}

// saying takes a call, and sends this.
func saying(answer string) func(net.Conn) {
	return func(connection net.Conn) {
		_, _ = connection.Read(make([]byte, 1<<16))
		_, _ = connection.Write([]byte(answer))
		_ = connection.Close()
	}
}

func TestAnswersOfAnyKindAreErrors(t *testing.T) {
	deep := strings.Repeat("[", 1<<19)
	for _, answer := range []string{
		"", "\x00", "{", "{}\x00", "[]\x00", "null\x00", `{"parameters":[]}` + "\x00", `{"parameters":{"version":1}}` + "\x00", deep + "\x00",
		strings.Repeat("x", mostReplyBytes+1),
		`{"error":"io.cpuledger.Ledger.LimitReached"}` + "\x00",
	} {
		client, err := Connect(context.Background(), answering(t, saying(answer)))
		if err == nil {
			t.Fatalf("%.40q: %+v", answer, client)
		}
		if strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Fatalf("%q", err.Error())
		}
	}
}

func TestASentenceIsOneShortLine(t *testing.T) {
	err := (&Refusal{Sentence: "no\x1b]0;title\x07\n\u202e" + strings.Repeat("x", 1000)}).Error()
	if !strings.HasPrefix(err, `no\x1b]0;title\a\n\u202e`) || len(err) > 500 || !strings.HasSuffix(err, "...") {
		t.Fatal(err)
	}
}

func TestAServiceThatSaysNothingIsLeftInTime(t *testing.T) {
	path := answering(t, func(net.Conn) {})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := Connect(canceled, path); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestNoCallWaitsForAnother(t *testing.T) {
	path := answering(t, func(connection net.Conn) {
		_, _ = connection.Read(make([]byte, 1<<16))
		_, _ = connection.Write([]byte(`{"parameters":{"version":"1"}}` + "\x00"))
	})
	client, err := Connect(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := client.Listing(context.Background(), Tasks)
		waiting <- err
	}()
	for len(client.turn) == 0 {
		time.Sleep(time.Millisecond)
	}
	const patience = 30 * time.Second
	answers := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := client.Info(ctx)
		answers <- err
	}()
	select {
	case err := <-answers:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("a call waits longer than its context")
	}
	go func() { answers <- client.Close() }()
	for _, ended := range []struct {
		answer <-chan error
		wanted error
	}{{waiting, net.ErrClosed}, {answers, nil}} {
		select {
		case err := <-ended.answer:
			if !errors.Is(err, ended.wanted) {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("Close waits for a call")
		}
	}
	if _, err := client.Info(context.Background()); !errors.Is(err, net.ErrClosed) {
		t.Fatal(err)
	}
}

func TestAListingOfAnyLengthIsNotBelieved(t *testing.T) {
	const info = `{"parameters":{"version":"1"}}` + "\x00"
	for _, length := range []string{"1099511627776", "-1", "1000000000"} {
		path := answering(t, func(connection net.Conn) {
			buffer := make([]byte, 1<<16)
			_, _ = connection.Read(buffer)
			_, _ = connection.Write([]byte(info))
			_, _ = connection.Read(buffer)
			_, _ = connection.Write([]byte(`{"parameters":{"length":` + length + `}}` + "\x00few bytes"))
			_ = connection.Close()
		})
		client, err := Connect(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		taken := allocated(func() { _, err = client.Listing(context.Background(), Tasks) })
		if err == nil || taken > 4<<20 {
			t.Fatalf("length %s: %v, %d bytes were taken", length, err, taken)
		}
	}
}
