package link

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Reason is one word: why a session ended or a connection was refused. The words are those of the
// `mesh-link:` rows.
type Reason string

// Why a session ended.
const (
	EOF       Reason = "eof"       // the peer closed it
	Reset     Reason = "reset"     // the transport gave up, or the peer's machine knows it no more
	Deadline  Reason = "deadline"  // a frame was not whole in time
	Malformed Reason = "malformed" // what came is no frame, or no TLS record
	Replaced  Reason = "replaced"  // the peer has a newer one
	Backstop  Reason = "backstop"  // silent for too long
	Local     Reason = "local"     // this node wanted it so
	// Full also refuses a connection: no slot, or pushed out by newer handshakes.
	Full Reason = "full" // the peer does not take what is sent
)

// Why a connection was refused.
const (
	WrongKey      Reason = "wrong-key"      // the authority's key is not the one the member trusts
	NotAllowed    Reason = "not-allowed"    // the member is not one that the authority may admit
	NoCertificate Reason = "no-certificate" // the peer proved no key at all
	Timeout       Reason = "timeout"        // not done in time, or nobody there
	TLS           Reason = "tls"            // anything else: not TLS, another version, a bad signature
	Unreachable   Reason = "unreachable"    // nobody listens there
)

// Why a handshake fails, beside what package tls and the connection find.
var (
	errFull          = errors.New("link: no slot, or pushed out of it")
	errWrongKey      = errors.New("link: the authority's key is not the pinned one")
	errNotAllowed    = errors.New("link: the member's key is not a pinned one")
	errNoCertificate = errors.New("link: no certificate")
)

// isPinError reports whether this node refused the peer's certificate.
func isPinError(err error) bool {
	return errors.Is(err, errWrongKey) || errors.Is(err, errNotAllowed) ||
		errors.Is(err, errNoCertificate)
}

// downReason is why a connection that failed with err is over.
func downReason(err error) Reason {
	var header tls.RecordHeaderError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return EOF
	case errors.As(err, &header), isLocalAlert(err):
		return Malformed
	case errors.Is(err, net.ErrClosed):
		return Local
	}
	return Reset
}

// isLocalAlert reports whether TLS itself found what came to be wrong, and told the peer so: a
// record that does not decrypt, a message out of place.
func isLocalAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "local error"
}

// side is what a failed handshake means at one end of a link. What the other end says about this
// node's certificate means one thing on each side, because either end has just one reason to say
// it.
type side struct {
	alert  Reason // the peer refused this node's certificate
	closed Reason // the peer closed the connection without a word
}

var (
	authoritySide = side{alert: WrongKey, closed: TLS}
	// An authority that has no room closes before it says anything.
	memberSide = side{alert: NotAllowed, closed: Full}
)

// reason is why a handshake failed with err.
func (at side) reason(err error) Reason {
	switch {
	case errors.Is(err, errWrongKey):
		return WrongKey
	case errors.Is(err, errNotAllowed):
		return NotAllowed
	case errors.Is(err, errNoCertificate):
		return NoCertificate
	case errors.Is(err, errFull):
		return Full
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case isCertificateAlert(err):
		return at.alert
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET):
		return at.closed
	}
	return TLS
}

// isCertificateAlert reports whether the peer refused this node's certificate. Package tls keeps
// the alert's type to itself, so that its text is all there is to go by; a test has both ends of
// it.
func isCertificateAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && op.Err != nil &&
		op.Err.Error() == "tls: bad certificate"
}
