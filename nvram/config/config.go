// Package config gives the environment its meaning: it parses the keys of spec section 2 into typed
// values and writes such values back as environment strings. It owns the keys, the form of every
// value and the words that say what is wrong with one. It must never guess: a malformed value takes
// its feature away and is reported, it is not replaced by the default for an absent one.
//
//	key         form                            absent                     refused
//	net.ip      IPv4 address/1..30              10.0.2.15/24               no network
//	net.gw      IPv4 address inside net.ip      none, 10.0.2.2 without ip  none
//	mesh.root   43 of base64url, or "self"      no mesh                    no mesh
//	mesh.peer   address:port, or :port          no mesh                    no mesh
//	mesh.epoch  1..4294967295                   1                          no mesh
//	mesh.time   heartbeat,suspect,fail,lease ms the ADR's constants        no mesh
//	mesh.acks   all, or "tape": and keep a tape commits under a lease, too no mesh
//	mesh.allow  at most 4 node ids              admits nobody              admits nobody
//	mesh.fail   1                               no failure detection       no failure detection
//	mesh.route  1                               no routing                 no routing
//	mesh.lab    1, or "tape": and keep a tape   no lab steps, no tape      no lab steps, no tape
//	debug.pprof 1                               no profiles over HTTP      no profiles over HTTP
//
// Numbers are decimal without leading zeros. A node id is 32 hexadecimal digits in lower case, as
// every console prints it, or 22 characters of base64url, which is how this package writes it: with
// four ids in the short form every environment of legal values fits into nvram.EnvironmentMax.
//
// Sizes and relations of the timing constants are the business of the mesh, which refuses a
// misordered set with reason=timing; here a value is only bounded in length.
package config

import (
	"encoding/base64"
	"encoding/hex"
	"net/netip"
	"time"

	"holdfast/nvram"
)

// The keys of the environment that this package knows.
const (
	KeyIP    = "net.ip"
	KeyGW    = "net.gw"
	KeyRoot  = "mesh.root"
	KeyPeer  = "mesh.peer"
	KeyAllow = "mesh.allow"
	KeyFail  = "mesh.fail"
	KeyRoute = "mesh.route"
	KeyEpoch = "mesh.epoch"
	KeyLab   = "mesh.lab"
	KeyTime  = "mesh.time"
	KeyAcks  = "mesh.acks"
	KeyPprof = "debug.pprof"
)

// Limits and defaults.
const (
	// acksAll is the one value of mesh.acks.
	acksAll = "all"
	// AllowMax is the most node ids that mesh.allow may name.
	AllowMax = 4
	// EpochDefault is the seed epoch of an environment without mesh.epoch.
	EpochDefault = 1
	// EpochMax is the highest seed epoch. Epochs are counted in 64 bits from there on, so that no
	// seed can bring the count near its end.
	EpochMax = 1<<32 - 1
	// TimeMax is the longest interval of mesh.time. Five digits keep the longest environment
	// within its area, and the link's backstop of 300 s well above any failure window.
	TimeMax = 99_999 * time.Millisecond
)

// DefaultAddress and DefaultGateway are the node's place on QEMU's user network.
var (
	DefaultAddress = netip.MustParsePrefix("10.0.2.15/24")
	DefaultGateway = netip.MustParseAddr("10.0.2.2")
)

// Key is an Ed25519 public key.
type Key [32]byte

// String is the key in base64url without padding, 43 characters.
func (k Key) String() string { return base64.RawURLEncoding.EncodeToString(k[:]) }

// ID is a node id.
type ID [16]byte

// String is the id in lower-case hexadecimal, 32 digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Root says who the authority is. The zero Root names nobody.
type Root struct {
	Self bool // this node is the authority
	Key  Key  // the authority's key, when it is another node
}

// IsZero says that no authority is named.
func (r Root) IsZero() bool { return r == Root{} }

// Peer is where the mesh's links are made. The zero Peer means no mesh.
type Peer struct {
	Host netip.Addr // the authority's address to dial; invalid on the authority, which listens
	Port uint16     // 1 to 65535
}

// IsZero says that there is no peer.
func (p Peer) IsZero() bool { return p == Peer{} }

// Listens says that this node waits for links rather than dials.
func (p Peer) Listens() bool { return p.Port != 0 && !p.Host.IsValid() }

// Timing is what mesh.time holds, each interval 1 ms to TimeMax. The zero Timing stands for the
// ADR's constants.
type Timing struct{ Heartbeat, Suspect, Fail, Lease time.Duration }

// Config is a node's configuration. The zero value of a field is what the package comment's table
// has under absent or refused, but for Address, Gateway and Epoch, which have defaults.
type Config struct {
	Address netip.Prefix // the node's address and the length of its network's prefix
	Gateway netip.Addr   // invalid: none
	Peer    Peer
	Root    Root
	Allow   []ID // at most AllowMax, none twice, in the environment's order
	Fail    bool
	Route   bool
	Lab     bool
	Tape    bool // of the protocol's steps; only with Lab or AcksAll
	Pprof   bool
	Epoch   uint64 // 1 to EpochMax; 0 when refused
	Timing  Timing
	AcksAll bool // every commit needs the acknowledgements of all members, and no lease counts

	Refused []Refusal // in the order of the table, then damage that has no known key
	Unknown []string  // names of the environment that are no key, in order
}

// Reason is one word that says why a value is refused. Damage in the environment brings its own
// words, nvram.FaultReason.
type Reason string

// Why a value is refused.
const (
	ReasonEmpty     Reason = "empty"     // no value after '='
	ReasonFlag      Reason = "flag"      // a switch that is not 1
	ReasonWord      Reason = "word"      // none of the words that the key knows
	ReasonNumber    Reason = "number"    // not a decimal number, or one with leading zeros
	ReasonRange     Reason = "range"     // a number outside its limits
	ReasonCount     Reason = "count"     // too many or too few parts
	ReasonAddress   Reason = "address"   // not the IPv4 address of a host
	ReasonPrefix    Reason = "prefix"    // no network prefix of 1 to 30 bits
	ReasonSubnet    Reason = "subnet"    // a gateway that net.ip's network does not contain
	ReasonPort      Reason = "port"      // no port of 1 to 65535
	ReasonBase64    Reason = "base64"    // not base64url
	ReasonKey       Reason = "key"       // not 32 bytes, or all zero
	ReasonID        Reason = "id"        // not a node id
	ReasonDuplicate Reason = "duplicate" // a node id, or the key itself, twice
	ReasonRole      Reason = "role"      // a value of the other role: see parsePeer and parseAllow
)

// Reasons is every word that a Refusal can have, damage's included: what a list of them elsewhere
// has to agree with.
func Reasons() []Reason {
	reasons := []Reason{ReasonEmpty, ReasonFlag, ReasonWord, ReasonNumber, ReasonRange,
		ReasonCount, ReasonAddress, ReasonPrefix, ReasonSubnet, ReasonPort, ReasonBase64, ReasonKey,
		ReasonID, ReasonDuplicate, ReasonRole}
	for _, f := range nvram.FaultReasons() {
		if r := Reason(f); r != ReasonDuplicate {
			reasons = append(reasons, r)
		}
	}
	return reasons
}

// Refusal is one refused value. It is the line "mesh-env: refused key= reason=".
type Refusal struct {
	Key    string // empty for damage outside any string with a legal name
	Reason Reason
}

// IsRefused says whether the key's value was refused.
func (c *Config) IsRefused(key string) bool {
	for _, r := range c.Refused {
		if r.Key == key {
			return true
		}
	}
	return false
}

// RefusesMesh says that the node must not take part in a mesh because one of the values that decide
// how it would was refused: the line "mesh=single reason=env".
func (c *Config) RefusesMesh() bool {
	return c.IsRefused(KeyPeer) || c.IsRefused(KeyRoot) || c.IsRefused(KeyEpoch) ||
		c.IsRefused(KeyTime) || c.IsRefused(KeyAcks)
}

// Load parses the environment of a record, its damage included.
func Load(r nvram.EnvironmentRecord) Config { return Parse(r.Environment, r.Faults) }
