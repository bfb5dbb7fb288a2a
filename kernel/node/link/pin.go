package link

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"slices"
	"time"

	"holdfast/mesh/id"
)

// selfSigned is the certificate that carries a node's key. Everything in it but the key is fixed:
// nobody checks a name or a date, and a node has no calendar to check one by.
func selfSigned(key ed25519.PrivateKey) (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Unix(0, 0).UTC(),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280 section 4.1.2.5
	}
	// Ed25519 signatures need no randomness.
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("link: making the certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// base is what both sides have in common. X25519 alone: on this processor a post-quantum exchange
// would cost more than all the rest of a handshake. No session tickets: every session proves both
// keys.
func base(own tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates:           []tls.Certificate{own},
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       []tls.CurveID{tls.X25519},
		SessionTicketsDisabled: true,
	}
}

// serverConfig is the authority's side. It asks for a certificate rather than requiring one, so
// that a missing one ends in pinned like a wrong one does.
func serverConfig(own tls.Certificate, pins []id.Node) *tls.Config {
	c := base(own)
	c.ClientAuth = tls.RequestClientCert
	c.VerifyConnection = pinned(pins, errNotAllowed)
	return c
}

// clientConfig is the member's side. The standard verification, of names and chains, is skipped:
// the pin is stricter than any of it.
func clientConfig(own tls.Certificate, pins []id.Node) *tls.Config {
	c := base(own)
	c.InsecureSkipVerify = true
	c.VerifyConnection = pinned(pins, errWrongKey)
	return c
}

// pinned refuses a peer whose key is not one of pins, with other. That the peer holds the private
// half is for the rest of the handshake to prove.
func pinned(pins []id.Node, other error) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errNoCertificate
		}
		key, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
		if !ok || !slices.Contains(pins, id.NodeOf(key)) {
			return other
		}
		return nil
	}
}

// peerKey is the key that the peer has proved, once the handshake is done.
func peerKey(c *tls.Conn) ed25519.PublicKey {
	return c.ConnectionState().PeerCertificates[0].PublicKey.(ed25519.PublicKey)
}
