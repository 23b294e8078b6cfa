package cpuledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

const (
	// waitingFrames wait until the loop takes them. The ring keeps those that come after them, as long as it has room.
	waitingFrames = 16
	// patience is the time after which a wait for the ring looks whether it is still needed.
	patience = time.Second
	// lateness is by how much a frame may be late, beyond twice its length, before the service is asked whether it lives.
	lateness = 5 * time.Second
	// restart is the time within which a service that has ended comes back.
	restart = 5 * time.Second
	// mostExited deaths end an interval.
	mostExited = 1 << 18
	// pause lies between two attempts.
	pause = 20 * time.Millisecond
)

// Intervals iterates over intervals of that length, to half an interval of the service, which end from now on: those of the service, merged. With length 0 they
// are those of the service, as it publishes them. A length that is shorter makes the service close its intervals more often, as long as the budget of this user
// lasts.
//
// An interval is shorter where the next is missing, or where it has very many deaths. A service that is restarted is joined again within 5 s. Time of which
// there is no interval is in MissingNs of the next one. The loop ends with an error when the service does not come back, and when the context ends.
func (c *Client) Intervals(ctx context.Context, length time.Duration) iter.Seq2[*Interval, error] {
	return func(yield func(*Interval, error) bool) {
		f := &follower{path: c.path, length: length}
		defer f.end()
		if err := f.subscribe(ctx); err != nil {
			yield(nil, err)
			return
		}
		for {
			interval, err := f.gather(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(interval, nil) {
				return
			}
		}
	}
}

// Latest returns the last interval that the service has closed, at once; nil: it has closed none yet.
func (c *Client) Latest(ctx context.Context) (*Interval, error) {
	connection, ring, _, err := subscribe(ctx, c.path, 0)
	if err != nil {
		return nil, err
	}
	defer connection.close()
	defer ring.close()
	bytes, number, err := ring.last()
	if err != nil || number == 0 {
		return nil, err
	}
	frame, err := Decode(bytes)
	if err != nil {
		return nil, err
	}
	return &Interval{Frame: frame}, nil
}

// subscribe connects, and maps the ring of the widest audience that this user may have. It returns the interval that frames have.
func subscribe(ctx context.Context, path string, length time.Duration) (*connection, *ring, time.Duration, error) {
	connection, err := connectChecked(ctx, path)
	if err != nil {
		return nil, nil, 0, err
	}
	var info Info
	if length > 0 {
		if err := connection.plain(ctx, "Info", struct{}{}, &info); err != nil {
			connection.close()
			return nil, nil, 0, err
		}
	}
	for {
		ring, interval, err := connection.subscribe(ctx, frameLength(length, time.Duration(info.IntervalNs), time.Duration(info.ShortestIntervalNs)))
		if err == nil {
			return connection, ring, interval, nil
		}
		// Another one has followed it before it was mapped.
		if !errors.Is(err, errRingEnded) || ctx.Err() != nil {
			connection.close()
			return nil, nil, 0, err
		}
	}
}

// frameLength is what to ask for, so that whole frames make up the wanted length.
func frameLength(wanted, usual, shortest time.Duration) time.Duration {
	if wanted <= shortest || usual <= 0 || wanted%usual == 0 {
		return wanted
	}
	frames := (wanted + usual - 1) / usual
	return max(wanted/frames, shortest)
}

func (c *connection) subscribe(ctx context.Context, longest time.Duration) (*ring, time.Duration, error) {
	var parameters struct {
		IntervalNs int64 `json:"interval_ns,omitempty"`
	}
	parameters.IntervalNs = int64(longest)
	var result struct {
		Ring       int   `json:"ring"`
		IntervalNs int64 `json:"interval_ns"`
	}
	descriptors, err := c.call(ctx, "Subscribe", parameters, &result, false)
	if err != nil {
		return nil, 0, err
	}
	defer closeAll(descriptors)
	if result.Ring < 0 || result.Ring >= len(descriptors) {
		return nil, 0, fmt.Errorf("%w: descriptor %d is missing", errProtocol, result.Ring)
	}
	ring, err := openRing(descriptors[result.Ring])
	return ring, time.Duration(result.IntervalNs), err
}

// follower follows the rings of the service, one after the other.
type follower struct {
	path string
	// length of intervals; 0: as they are published.
	length  time.Duration
	current *subscription
	// frameTime is how long frames are.
	frameTime time.Duration
	// endNs is where the last frame ended; 0: there was none.
	endNs uint64
	// merged are the first frames of an interval, and held is the one behind it.
	merged, held *Interval
	// failure ends the loop when merged was handed out.
	failure error
}

// subscription is a ring that is read, and the connection on which it depends.
type subscription struct {
	connection *connection
	// frames are those of the ring. It is closed when there will be no more, and failure says why if that is an error.
	frames  chan []byte
	failure error
	// isOver is closed when nobody wants them any more.
	isOver chan struct{}
	// hasClosed is closed when the service has closed the connection.
	hasClosed chan struct{}
}

func (f *follower) subscribe(ctx context.Context) error {
	connection, ring, interval, err := subscribe(ctx, f.path, f.length)
	if err != nil {
		return err
	}
	if f.current != nil {
		// A ring that follows another has its last frames, too: those that have come are passed over.
		ring.next = 1
	}
	next := &subscription{
		connection: connection,
		frames:     make(chan []byte, waitingFrames),
		isOver:     make(chan struct{}),
		hasClosed:  make(chan struct{}),
	}
	go next.read(ring)
	go next.watch()
	// The old one ends when there is a new one, so that what it asks for holds all the time.
	f.end()
	f.current, f.frameTime = next, interval
	return nil
}

func (f *follower) end() {
	if f.current != nil {
		close(f.current.isOver)
		f.current.connection.close()
	}
}

// watch waits for the end of the connection: nothing else comes by it.
func (s *subscription) watch() {
	_ = s.connection.socket.SetDeadline(time.Time{})
	_, descriptors, _ := s.connection.receive()
	closeAll(descriptors)
	close(s.hasClosed)
}

// read hands out the frames of the ring, which it closes at its end.
func (s *subscription) read(ring *ring) {
	defer ring.close()
	defer close(s.frames)
	for {
		isLast := isClosed(s.hasClosed)
		outcome, err := ring.wait(patience)
		if err != nil {
			s.failure = err
			return
		}
		switch {
		case outcome == waitFrame:
			frame, _, err := ring.take()
			if err != nil || frame == nil {
				// It is damaged, or was overwritten just now: it is missing then, which its neighbours tell.
				time.Sleep(time.Millisecond)
				break
			}
			select {
			case s.frames <- frame:
			case <-s.isOver:
				return
			}
		case outcome == waitMoved || isLast:
			return
		}
		if isClosed(s.isOver) {
			return
		}
	}
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// gather returns the next interval of the wanted length.
func (f *follower) gather(ctx context.Context) (*Interval, error) {
	for {
		next := f.held
		f.held = nil
		if next == nil {
			if f.failure != nil {
				return nil, f.failure
			}
			var err error
			if next, err = f.next(ctx); err != nil {
				if f.merged == nil || ctx.Err() != nil {
					return nil, err
				}
				f.failure = err
				return f.handOut(), nil
			}
		}
		if f.merged == nil {
			f.merged = next
		} else {
			frame, err := f.merged.Merge(next.Frame)
			if err != nil {
				// They are no neighbours.
				f.held = next
				return f.handOut(), nil
			}
			f.merged = &Interval{Frame: frame, MissingNs: f.merged.MissingNs}
		}
		length := f.merged.LengthNs().Or(0) + next.LengthNs().Or(0)/2
		if length >= uint64(max(f.length, 0)) || f.merged.Exited().Len() >= mostExited {
			return f.handOut(), nil
		}
	}
}

func (f *follower) handOut() *Interval {
	merged := f.merged
	f.merged = nil
	return merged
}

// next waits for the next frame.
func (f *follower) next(ctx context.Context) (*Interval, error) {
	heard := time.Now()
	for {
		late := time.NewTimer(time.Until(heard.Add(2*f.frameTime + lateness)))
		select {
		case <-ctx.Done():
			late.Stop()
			return nil, context.Cause(ctx)
		case <-late.C:
			if err := f.look(ctx); err != nil {
				return nil, err
			}
			heard = time.Now()
		case bytes, isFrame := <-f.current.frames:
			late.Stop()
			if !isFrame {
				if err := f.rejoin(ctx); err != nil {
					return nil, err
				}
				heard = time.Now()
				continue
			}
			interval, err := f.interval(bytes)
			if interval != nil || err != nil {
				return interval, err
			}
		}
	}
}

// interval decodes a frame; nil: it has come before.
func (f *follower) interval(bytes []byte) (*Interval, error) {
	frame, err := Decode(bytes)
	if err != nil {
		return nil, err
	}
	begin, hasBegin := frame.Figures().StartNs().Get()
	end, hasEnd := frame.Figures().EndNs().Get()
	if !hasBegin || !hasEnd {
		return nil, fmt.Errorf("%w: an interval without begin or end", errProtocol)
	}
	if begin < f.endNs {
		return nil, nil
	}
	interval := &Interval{Frame: frame}
	if f.endNs != 0 {
		interval.MissingNs = begin - f.endNs
	}
	f.endNs = end
	return interval, nil
}

// look asks a service whose frame is late whether it lives. Its intervals may have become longer.
func (f *follower) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, restart)
	defer cancel()
	connection, err := connectChecked(ctx, f.path)
	if err != nil {
		return err
	}
	defer connection.close()
	var info Info
	if err := connection.plain(ctx, "Info", struct{}{}, &info); err != nil {
		return err
	}
	f.frameTime = max(f.frameTime, time.Duration(info.IntervalNs))
	return nil
}

// rejoin subscribes again, where a ring has ended: another one follows it, or the service is restarted.
func (f *follower) rejoin(ctx context.Context) error {
	if err := f.current.failure; err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, restart)
	defer cancel()
	for {
		err := f.subscribe(limited)
		var refusal *Refusal
		if err == nil || errors.As(err, &refusal) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-limited.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("the service has ended: %w", err)
		}
	}
}
