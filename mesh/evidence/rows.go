package evidence

import "slices"

// Row is one form that a line can take: a fixed head, then exactly these fields in this order, then
// at= unless the row belongs to Status.
type Row struct {
	Head   string
	Fields []Field
}

// Field is one key and the values that it can have.
type Field struct {
	Key    string
	Kind   Kind
	Words  []string // for KindWord: the words there are
	OrNone bool     // the value may be none
}

// Rows is the grammar of evidence, every row there is. Two rows with one head differ in the words
// of their first field. The rows are those of spec/evidence.md; docs/evidence.md explains each.
var Rows = []Row{
	{Single, row(words("reason", "no-peer", "no-key", "no-entropy", "identity", "env"))},

	{"mesh-env: loaded", row(words("copy", "a", "b"), number("seq"), count("bytes"))},
	{"mesh-env: none", row(words("reason", "blank", "magic", "version", "crc", "length"))},
	{"mesh-env: unknown", row(text("key"))},
	{"mesh-env: refused", row(text("key"),
		words("reason", "empty", "flag", "word", "number", "range", "count", "address", "prefix",
			"subnet", "port", "base64", "key", "id", "duplicate", "role", "oversize", "unterminated",
			"trailing", "no-equals", "empty-name", "name", "non-ascii", "control"))},

	{"mesh-node: start", row(node("node"), words("role", "authority", "member"), boot("boot"),
		epoch("epoch"), ip("ip"), words("seed", "nvram", "loader", "chip"))},

	{"mesh-link: up", row(node("node"), ipPort("remote"), count("slot"))},
	{"mesh-link: refused", row(ipPort("remote"), words("reason",
		"wrong-key", "not-allowed", "no-certificate", "timeout", "full", "tls"))},
	{"mesh-link: down", row(node("node"), words("reason",
		"eof", "reset", "deadline", "malformed", "replaced", "backstop", "full", "local"))},

	{"mesh-join: confirmed", row(node("node"), epoch("epoch"), count("members"), digest("digest"),
		nodes("snapshot"), epoch("incarnation"))},
	{"mesh-join: refused", row(node("node"), words("reason", "wrong-authority", "bad-signature",
		"not-allowed", "timing", "identity", "duplicate", "quarantine", "malformed", "not-current",
		"not-ready"))},

	{"mesh-view: installed", row(epoch("epoch"), count("members"), digest("digest"),
		nodes("snapshot"))},

	{"mesh-fail: disabled", row(words("reason", "config"))},
	{"mesh-fail: suspect", row(node("node"), epoch("epoch"), millis("silent_ms"))},
	{"mesh-fail: failed", row(node("node"), epoch("epoch"), millis("silent_ms"))},
	{"mesh-fail: recovered", row(node("node"), epoch("epoch"), millis("silent_ms"))},
	{"mesh-fail: removed", row(node("node"), epoch("epoch"), count("members"), digest("digest"),
		nodes("snapshot"))},
	{"mesh-fail: authority", row(words("state", "lost"), epoch("epoch"), node("root"),
		words("mutable", "0"), orNone(words("reads", "lease")), orNone(millis("lease_sent_ms")))},
	{"mesh-fail: authority", row(words("state", "restored"), epoch("epoch"), node("root"),
		flag("mutable"))},
	{"mesh-fail: paused", row(millis("ms"), words("kind", "gap", "back", "rtc"))},
	{"mesh-fail: degraded", row(node("node"), count("recoveries"))},
	{"mesh-fail: fork", row(epoch("epoch"), digest("have"), digest("got"))},
	{"mesh-fail: stale", row(epoch("epoch"), epoch("current"))},
	{"mesh-fail: refused", row(words("reason", "timing", "quarantine", "marks", "unproven"))},

	{"mesh-route: disabled", row(words("reason", "config"))},
	{"mesh-route: authority", row(words("state", "current", "lost"), orNone(epoch("epoch")),
		flag("mutable"), millis("write_lease_ms"), orNone(millis("lease_sent_ms")))},
	{"mesh-route: fence", row(object("object"), node("stale_home"), epoch("stale_home_epoch"),
		node("home"), epoch("home_epoch"), words("reason", "left-view", "lease-left-view"))},
	{"mesh-route: lease", row(object("object"), words("state", "active", "draining", "dropped"),
		node("home"), epoch("home_epoch"))},
	{"mesh-route: move", row(object("object"), node("from"), node("to"), epoch("epoch"))},
	{"mesh-route: result", row(orNone(count("step")), request("request"), object("object"),
		words("op", "stat", "commit"), status("status"), orNone(node("home")), orNone(epoch("epoch")),
		orNone(epoch("home_epoch")), number("version"), count("attempts"), count("moved"),
		count("sends"), count("timeouts"),
		orNone(words("class", "lease", "authoritative", "stale-ok")),
		orNone(words("durability", "local", "replicated")), count("copies"))},
	{"mesh-route: counters", row(number("routes"), number("sends"), number("moved"),
		number("timeouts"), number("refused"), number("fences"), number("commits"),
		number("replays"), orNone(words("last_replay", "stale-epoch", "replay")))},
}

// Status is the grammar of the other lines that a node's HTTP answers consist of (GET /mesh,
// /mesh/homes and /mesh/health). They are a state, not an event: they have no at=.
var Status = []Row{
	{"node", row(orNone(node("id")), orNone(words("role", "authority", "member")),
		words("mesh", "joined", "joining", "single"), orNone(epoch("epoch")),
		orNone(digest("digest")), flag("mutable"), millis("now_ms"))},
	{"member", row(node("id"), words("state", "alive", "suspect", "failed"), millis("age_ms"),
		epoch("incarnation"))},
	{"", row(object("object"), orNone(text("name")), orNone(node("home")),
		orNone(epoch("home_epoch")), orNone(words("lease", "active", "draining")),
		millis("read_ms"), millis("write_ms"), number("version"), count("copies"))},
	{"times", row(millis("heartbeat_ms"), millis("suspect_ms"), millis("fail_ms"),
		millis("lease_ms"), words("fence", "lease", "acks"))},
	{"tick", row(number("n"), millis("p50_ms"), millis("p99_ms"), millis("worst_ms"))},
	{"peer", row(node("id"), number("n"), millis("silent_ms"), number("mean_us"),
		number("deviation_us"), millis("p50_ms"), millis("p99_ms"), millis("worst_ms"),
		number("phi_normal_milli"), number("phi_exponential_milli"))},
	{"bucket", row(orNone(node("id")), millis("most_ms"), number("n"))},
}

func row(fields ...Field) []Field { return fields }

func words(key string, w ...string) Field { return Field{Key: key, Kind: KindWord, Words: w} }

func orNone(f Field) Field {
	f.OrNone = true
	return f
}

func text(key string) Field    { return Field{Key: key, Kind: KindText} }
func node(key string) Field    { return Field{Key: key, Kind: KindNode} }
func nodes(key string) Field   { return Field{Key: key, Kind: KindNodes} }
func object(key string) Field  { return Field{Key: key, Kind: KindObject} }
func digest(key string) Field  { return Field{Key: key, Kind: KindDigest} }
func boot(key string) Field    { return Field{Key: key, Kind: KindBoot} }
func epoch(key string) Field   { return Field{Key: key, Kind: KindEpoch} }
func number(key string) Field  { return Field{Key: key, Kind: KindNumber} }
func count(key string) Field   { return Field{Key: key, Kind: KindCount} }
func millis(key string) Field  { return Field{Key: key, Kind: KindMillis} }
func flag(key string) Field    { return Field{Key: key, Kind: KindFlag} }
func ip(key string) Field      { return Field{Key: key, Kind: KindIP} }
func ipPort(key string) Field  { return Field{Key: key, Kind: KindIPPort} }
func request(key string) Field { return Field{Key: key, Kind: KindRequest} }
func status(key string) Field  { return Field{Key: key, Kind: KindStatus} }

// at is the field that ends every row of Rows.
var at = millis(atKey)

// String returns the row as docs/evidence.md shows it.
func (r Row) String() string {
	s := r.Head
	for _, f := range r.fields() {
		if s != "" {
			s += " "
		}
		s += f.String()
	}
	return s
}

// fields returns all fields of the row, at= included when it ends in it.
func (r Row) fields() []Field {
	if claims(r.Head) {
		return append(slices.Clip(r.Fields), at)
	}
	return r.Fields
}

// String returns the field as docs/evidence.md shows it: state=alive|failed, node=<node>|none.
func (f Field) String() string {
	s := f.Key + "="
	if f.Kind == KindWord {
		for i, w := range f.Words {
			if i > 0 {
				s += "|"
			}
			s += w
		}
	} else {
		s += "<" + f.Kind.String() + ">"
	}
	if f.OrNone {
		s += "|" + absent
	}
	return s
}
