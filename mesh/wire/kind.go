package wire

// kinds is the table of all kinds that exist. early kinds may be sent by a node without a view,
// whose epoch is zero; bulk kinds wait behind all others.
var kinds = [...]struct {
	name  string
	make  func() Message
	early bool
	bulk  bool
}{
	KindPing:       {name: "ping", make: func() Message { return new(Ping) }, early: true},
	KindPong:       {name: "pong", make: func() Message { return new(Pong) }, early: true},
	KindLeaseReq:   {name: "lease-req", make: func() Message { return new(LeaseReq) }},
	KindLeaseAck:   {name: "lease-ack", make: func() Message { return new(LeaseAck) }},
	KindJoinReq:    {name: "join-req", make: func() Message { return new(JoinReq) }, early: true},
	KindChallenge:  {name: "challenge", make: func() Message { return new(Challenge) }, early: true},
	KindJoin:       {name: "join", make: func() Message { return new(Join) }, early: true},
	KindJoinState:  {name: "join-state", make: func() Message { return new(JoinState) }, early: true},
	KindJoinReady:  {name: "join-ready", make: func() Message { return new(JoinReady) }, early: true},
	KindConfirm:    {name: "confirm", make: func() Message { return new(Confirm) }},
	KindRefuse:     {name: "refuse", make: func() Message { return new(Refuse) }, early: true},
	KindView:       {name: "view", make: func() Message { return new(View) }},
	KindViewAck:    {name: "view-ack", make: func() Message { return new(ViewAck) }},
	KindViewReq:    {name: "view-req", make: func() Message { return new(ViewReq) }, early: true},
	KindStaleEpoch: {name: "stale-epoch", make: func() Message { return new(StaleEpoch) }},
	KindMove:       {name: "move", make: func() Message { return new(Move) }},
	KindMoveAck:    {name: "move-ack", make: func() Message { return new(MoveAck) }},
	KindRouteReq:   {name: "route-req", make: func() Message { return new(RouteReq) }, bulk: true},
	KindRouteRep: {
		name: "route-rep", make: func() Message { return new(RouteRep) }, early: true, bulk: true,
	},
	KindRecord: {
		name: "record", make: func() Message { return new(Record) }, early: true, bulk: true,
	},
	KindRecordAck: {
		name: "record-ack", make: func() Message { return new(RecordAck) }, early: true,
	},
	KindRecordRefuse: {
		name: "record-refuse", make: func() Message { return new(RecordRefuse) }, early: true,
	},
	KindForward:   {name: "forward", make: func() Message { return new(Forward) }, bulk: true},
	KindPublished: {name: "published", make: func() Message { return new(Published) }, bulk: true},
}

// Valid reports whether frames of kind k exist.
func (k Kind) Valid() bool { return int(k) < len(kinds) && kinds[k].make != nil }

// String returns k's name, or "invalid".
func (k Kind) String() string {
	if !k.Valid() {
		return "invalid"
	}
	return kinds[k].name
}

// IsControl reports whether frames of kind k are control frames, which never wait behind a bulk
// one: one that carries a request or a value.
func IsControl(k Kind) bool { return !k.Valid() || !kinds[k].bulk }

// beforeView reports whether a node without a view may send frames of kind k.
func (k Kind) beforeView() bool { return k.Valid() && kinds[k].early }
