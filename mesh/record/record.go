// Package record is what a node holds of an object: a version of its value, and what is needed to
// answer a request for it again (spec/protocol.md, "Replicated commit").
//
// Records of one object are ordered by (epoch, version): the epoch is that of the view under which
// the home made it, and a home never uses a version twice in an epoch. So two records of the same
// epoch and version are the same record, and their digests say so. The window of remembered
// requests travels with a record and is no part of the digest: reads change it at the home alone.
//
// A Record is a value: Value is replaced and never changed in place. It has a kilobyte, so that
// functions hand it on by its address.
package record

import (
	"encoding/binary"

	"holdfast/mesh/id"
	"holdfast/mesh/replay"
	"holdfast/mesh/wire"
)

// Record is one version of an object. The zero Record is an object that was never committed.
type Record struct {
	Epoch         id.Epoch
	Version       uint64
	Request       wire.Request // of the commit that made it
	RequestDigest id.Digest
	Value         []byte
	Window        replay.Window
	Digest        id.Digest // set by Seal
}

// IsZero reports whether there is no record.
func (r *Record) IsZero() bool { return r.Version == 0 }

// After reports whether r is newer than o.
func (r *Record) After(o *Record) bool {
	return r.Epoch > o.Epoch || r.Epoch == o.Epoch && r.Version > o.Version
}

const (
	recordDomain = "holdfast/record\x00"
	tableDomain  = "holdfast/table\x00"
)

// Seal sets the digest of a record of object o.
func (r *Record) Seal(o id.Object) {
	b := append(make([]byte, 0, 128+len(r.Value)), recordDomain...)
	b = append(b, o[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Epoch))
	b = binary.BigEndian.AppendUint64(b, r.Version)
	b = append(b, r.Request.Client[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Request.Boot))
	b = binary.BigEndian.AppendUint64(b, r.Request.Seq)
	b = append(b, r.RequestDigest[:]...)
	b = append(b, r.Value...) // last: the only field without a fixed length
	r.Digest = id.Sum(b)
}

// Message puts r into a frame, for the object and mode and from the home that are set already.
func (r *Record) Message(m wire.Record) *wire.Record {
	m.Epoch, m.Version, m.Request, m.RequestDigest = r.Epoch, r.Version, r.Request, r.RequestDigest
	m.Value, m.Window = r.Value, r.Window.Append(nil)
	return &m
}

// Of returns the record in a frame. The error is that of a window that no node encodes.
func Of(m *wire.Record) (*Record, error) {
	r := &Record{Epoch: m.Epoch, Version: m.Version, Request: m.Request,
		RequestDigest: m.RequestDigest, Value: m.Value}
	var err error
	if r.Window, err = replay.Parse(m.Window); err != nil {
		return nil, err
	}
	r.Seal(m.Object)
	return r, nil
}

// Sum makes the summary of a table of records, which are added in the order of their objects.
type Sum struct {
	b []byte
	n uint16
}

// Add adds the record of o.
func (s *Sum) Add(o id.Object, r *Record) {
	if s.n == 0 {
		s.b = append(s.b, tableDomain...)
	}
	s.n++
	s.b = append(s.b, o[:]...)
	s.b = binary.BigEndian.AppendUint64(s.b, uint64(r.Epoch))
	s.b = binary.BigEndian.AppendUint64(s.b, r.Version)
	s.b = append(s.b, r.Digest[:]...)
}

// Table returns the summary: no records have no digest.
func (s *Sum) Table() wire.Table {
	if s.n == 0 {
		return wire.Table{}
	}
	return wire.Table{Records: s.n, Digest: id.Sum(s.b)}
}
