package cpuledger

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The layout of a segment: docs/format/recording.md has it.
const (
	segmentMagic       = "cpuledsg"
	recordMagic        = "cRec"
	trailerMagic       = "cEnd"
	segmentVersion     = 2
	segmentHeaderBytes = 256
	recordBytes        = 64
	trailerBytes       = 80
	segmentChecksumAt  = 252
	bootIDAt           = 56
	bootIDBytes        = 64
	// mostNeeded records may stand between one and the one that stands alone.
	mostNeeded     = 64
	mostPlainBytes = 256 << 20
	// Where damage is, the next record is looked for in pieces of this length.
	searchedAtOnce = 1 << 20
	// leastWindow is a window that any decompressor may take.
	leastWindow = 8 << 20
)

// ErrNoRecording is wrapped by the error of a path where no segment is.
var ErrNoRecording = errors.New("no recording")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Read iterates over the recorded intervals that lie in part between two instants of CLOCK_REALTIME; the zero [time.Time] is no limit. The path is a
// recording, the folder of one of its tiers, or a segment. Of a recording with several tiers it is the finest.
//
// Damaged records are missing, as is what could not be written: MissingNs of the next interval tells. The first interval of a boot has none there.
func Read(path string, since, until time.Time) iter.Seq2[*Interval, error] {
	return func(yield func(*Interval, error) bool) {
		paths, err := segmentsOf(path)
		if err != nil {
			yield(nil, err)
			return
		}
		r := recordingReader{since: nanoseconds(since, 0), until: nanoseconds(until, math.MaxUint64)}
		for _, path := range paths {
			isOver, err := r.segment(path, func(interval *Interval) bool { return yield(interval, nil) })
			// A segment may have been deleted or renamed meanwhile.
			if errors.Is(err, fs.ErrNotExist) && len(paths) > 1 {
				continue
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", path, err))
				return
			}
			if isOver {
				return
			}
		}
	}
}

func nanoseconds(at time.Time, none uint64) uint64 {
	if at.IsZero() {
		return none
	}
	return uint64(max(at.UnixNano(), 0))
}

// segmentsOf finds the segments of a recording, in the order in which they were written.
func segmentsOf(path string) ([]string, error) {
	found, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !found.IsDir() {
		return []string{path}, nil
	}
	tiers := []string{path}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	finest := time.Duration(math.MaxInt64)
	for _, entry := range entries {
		if length, isTier := tierLength(entry.Name()); isTier && entry.IsDir() && length < finest {
			finest = length
			tiers = []string{filepath.Join(path, entry.Name()), path}
		}
	}
	for _, tier := range tiers {
		segments, err := segmentsOfTier(tier)
		if err != nil || len(segments) > 0 {
			return segments, err
		}
	}
	return nil, fmt.Errorf("%w in %s: no file there ends in .seg, .cut or .open", ErrNoRecording, path)
}

// tierLength is the length of the intervals of a tier, by the name of its folder.
func tierLength(name string) (time.Duration, bool) {
	if name == "all" {
		return 0, true
	}
	length, err := time.ParseDuration(name)
	return length, err == nil && length > 0
}

func segmentsOfTier(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	numbers := map[string]uint64{}
	var segments []string
	for _, entry := range entries {
		digits, ending, _ := strings.Cut(entry.Name(), ".")
		number, err := strconv.ParseUint(digits, 10, 64)
		isSegment := err == nil && (ending == "seg" || ending == "cut" || ending == "open")
		if isSegment && entry.Type().IsRegular() {
			segment := filepath.Join(path, entry.Name())
			numbers[segment] = number
			segments = append(segments, segment)
		}
	}
	slices.SortFunc(segments, func(a, b string) int {
		if numbers[a] < numbers[b] {
			return -1
		}
		return 1
	})
	return segments, nil
}

// recordingReader reads segment after segment.
type recordingReader struct {
	since, until uint64
	// Of the last interval: where it ended, and its boot.
	endNs  uint64
	bootID string
	has    bool
}

// record is what the header of one says.
type record struct {
	offset                                uint64
	checksum, length, plain, compressed   uint32
	startNs, endNs, endRealtimeNs, backBy uint64
}

// segment reads one. It returns whether no more is wanted.
func (r *recordingReader) segment(path string, yield func(*Interval) bool) (isOver bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	s := &segmentReader{file: file, length: uint64(max(info.Size(), 0))}
	defer s.close()
	if err := s.open(); err != nil {
		return false, err
	}
	if s.hasTrailer && (s.endRealtimeNs <= r.since || s.startRealtimeNs >= r.until) {
		return s.startRealtimeNs >= r.until, nil
	}
	offset := uint64(segmentHeaderBytes)
	for {
		found, err := s.next(offset)
		if err != nil || found == nil {
			return false, err
		}
		offset = found.offset + recordBytes + uint64(found.length)
		begin := found.endRealtimeNs - min(found.endRealtimeNs, found.endNs-min(found.endNs, found.startNs))
		s.need(found)
		if found.endRealtimeNs <= r.since || begin >= r.until {
			continue
		}
		frame, err := s.decode(found)
		if err != nil {
			return false, err
		}
		if frame == nil {
			continue // damaged
		}
		interval := &Interval{Frame: frame}
		if r.has && r.bootID == s.bootID && found.startNs > r.endNs {
			interval.MissingNs = found.startNs - r.endNs
		}
		r.endNs, r.bootID, r.has = found.endNs, s.bootID, true
		if !yield(interval) {
			return true, nil
		}
	}
}

// segmentReader reads the records of a segment.
type segmentReader struct {
	file   *os.File
	length uint64
	// end is where the records end.
	end                            uint64
	bootID                         string
	hasTrailer                     bool
	startRealtimeNs, endRealtimeNs uint64
	// needed are the records that come before the one that is decoded next, from one that stands alone on.
	needed []*record
	chain  *chain
	// decompressor is nil until there is something to decompress.
	decompressor *zstd.Decoder
	// decoded is where the last record of the chain begins; 0: none was decoded.
	decoded uint64
}

// open reads header and trailer. Where they are damaged, all of the file may be records.
func (s *segmentReader) open() error {
	s.end = s.length
	header, err := s.at(0, segmentHeaderBytes)
	if err != nil {
		return err
	}
	isWhole := header != nil && string(header[:len(segmentMagic)]) == segmentMagic &&
		crc32.Checksum(header[:segmentChecksumAt], castagnoli) == u32(header, segmentChecksumAt)
	if isWhole {
		if u16(header, 10) > segmentVersion || u16(header, 12) != segmentHeaderBytes || u16(header, 14) != recordBytes {
			return fmt.Errorf("%w: the segment has version %d, this reader has version %d", ErrTooNew, u16(header, 8), segmentVersion)
		}
		s.bootID = strings.TrimRight(string(header[bootIDAt:bootIDAt+bootIDBytes]), "\x00")
	}
	if s.length < segmentHeaderBytes+trailerBytes {
		return nil
	}
	trailer, err := s.at(s.length-trailerBytes, trailerBytes)
	if err != nil {
		return err
	}
	index := u64(trailer, 16)
	if string(trailer[:4]) == trailerMagic && crc32.Checksum(trailer[8:], castagnoli) == u32(trailer, 4) && index <= s.length {
		s.end, s.hasTrailer = index, u32(trailer, 12) > 0
		s.startRealtimeNs, s.endRealtimeNs = u64(trailer, 64), u64(trailer, 72)
	}
	return nil
}

func (s *segmentReader) close() {
	if s.decompressor != nil {
		s.decompressor.Close()
	}
}

// at reads bytes of the file; nil: it ends before.
func (s *segmentReader) at(offset, count uint64) ([]byte, error) {
	if offset > s.length || count > s.length-offset {
		return nil, nil
	}
	bytes := make([]byte, count)
	if _, err := s.file.ReadAt(bytes, int64(offset)); errors.Is(err, io.EOF) {
		return nil, nil // it was cut meanwhile
	} else if err != nil {
		return nil, err
	}
	return bytes, nil
}

// next finds the next record, from an offset on; nil: there is none.
func (s *segmentReader) next(offset uint64) (*record, error) {
	for offset+recordBytes <= s.end {
		header, err := s.at(offset, recordBytes)
		if err != nil || header == nil {
			return nil, err
		}
		if found := recordOf(header, offset); found != nil && found.offset+recordBytes+uint64(found.length) <= s.end {
			return found, nil
		}
		if offset, err = s.search(offset + 1); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// search finds what begins as a record does, where there is damage.
func (s *segmentReader) search(offset uint64) (uint64, error) {
	for offset < s.end {
		piece, err := s.at(offset, min(searchedAtOnce, s.end-offset))
		if err != nil || piece == nil {
			return s.end, err
		}
		if place := bytes.Index(piece, []byte(recordMagic)); place >= 0 {
			return offset + uint64(place), nil
		}
		if len(piece) < searchedAtOnce {
			break
		}
		offset += uint64(len(piece) - len(recordMagic) + 1)
	}
	return s.end, nil
}

func recordOf(header []byte, offset uint64) *record {
	if string(header[:4]) != recordMagic || crc32.Checksum(header[8:], castagnoli) != u32(header, 4) {
		return nil
	}
	return &record{
		offset: offset, checksum: u32(header, 8), length: u32(header, 12), plain: u32(header, 16), compressed: u32(header, 20),
		startNs: u64(header, 32), endNs: u64(header, 40), endRealtimeNs: u64(header, 48), backBy: u64(header, 56),
	}
}

// need notes a record, which later ones may need.
func (s *segmentReader) need(found *record) {
	if found.backBy == 0 {
		s.needed, s.chain, s.decoded = s.needed[:0], nil, 0
	}
	s.needed = append(s.needed, found)
}

// decode decodes the record that was noted last, and those that it needs. nil: one of them is damaged.
func (s *segmentReader) decode(wanted *record) (*Frame, error) {
	needed := s.needed
	s.needed = nil
	if len(needed) > mostNeeded {
		return nil, nil
	}
	var frame *Frame
	for _, one := range needed {
		isNext := one.backBy == 0 || s.chain != nil && s.decoded != 0 && one.offset-s.decoded == one.backBy
		if !isNext {
			s.chain = nil
			return nil, nil
		}
		packed, err := s.at(one.offset+recordBytes, uint64(one.length))
		if err != nil {
			return nil, err
		}
		if one.backBy == 0 {
			s.chain = new(chain)
		}
		frame, err = s.link(one, packed)
		if err != nil {
			s.chain = nil // those behind it cannot be read either
			return nil, nil
		}
		s.decoded = one.offset
	}
	if frame.Figures().StartNs() != Known(wanted.startNs) || frame.Figures().EndNs() != Known(wanted.endNs) {
		return nil, nil
	}
	return frame, nil
}

func (s *segmentReader) link(one *record, packed []byte) (*Frame, error) {
	if packed == nil || crc32.Checksum(packed, castagnoli) != one.checksum || one.compressed > one.length {
		return nil, damaged("the record is damaged")
	}
	bytes := uint64(recordBytes) + uint64(one.length)
	if uint64(one.plain) > min(1<<20+256*bytes, mostPlainBytes) {
		return nil, damaged("the record is longer than its length allows")
	}
	plain, err := s.unpack(packed[:one.compressed], uint64(one.plain))
	if err != nil {
		return nil, err
	}
	return s.chain.read(plain, packed[one.compressed:], 1024+4*bytes)
}

// unpack decompresses bytes that have this length then.
func (s *segmentReader) unpack(packed []byte, length uint64) ([]byte, error) {
	var header zstd.Header
	if err := header.Decode(packed); err != nil || !header.HasFCS || header.FrameContentSize != length {
		return nil, damaged("the compressed part is damaged")
	}
	if !header.SingleSegment && header.WindowSize > max(leastWindow, length) {
		return nil, damaged("the compressed part takes a window of %d bytes", header.WindowSize)
	}
	if s.decompressor == nil {
		reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(mostPlainBytes))
		if err != nil {
			return nil, err
		}
		s.decompressor = reader
	}
	if err := s.decompressor.Reset(bytes.NewReader(packed)); err != nil {
		return nil, err
	}
	plain := make([]byte, length)
	if _, err := io.ReadFull(s.decompressor, plain); err != nil {
		return nil, damaged("the compressed part is damaged")
	}
	if count, err := s.decompressor.Read(make([]byte, 1)); count != 0 || !errors.Is(err, io.EOF) {
		return nil, damaged("the compressed part is longer than it says")
	}
	return plain, nil
}
