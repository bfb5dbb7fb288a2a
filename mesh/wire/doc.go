// Package wire is the frame codec of the mesh's links (spec/system.md section 3, spec/protocol.md):
// it turns messages into frames and back, and nothing else. It is exact: it accepts no frame that
// it would not produce itself, so that two nodes never disagree about what a frame says, and a
// malformed frame is always the sender's fault. Whether a well-formed message makes sense is for
// package mesh to decide.
//
// Numbers are big-endian. A blob is a u16 with its length, then that many bytes. On the link, a
// frame is at most FrameMax bytes with its prefix:
//
//	size    2  of what follows: 9 to FrameMax-2
//	kind    1  the number in front of each body below
//	epoch   8  the sender's; 0 from a sender without a view, in the kinds marked * only
//	body
//
// The marked kinds are those that a joiner sends, and those in which a restarted authority that has
// no view yet still answers. Incarnations, epochs, boots and sequence numbers in a body are never
// 0, except where it is said, RouteRep's home epoch and a client's boot. Bodies:
//
//	 1 Ping *        nonce 8
//	 2 Pong *        nonce 8
//	 3 LeaseReq      node 16, incarnation 8, boot 8, digest 16, authority boot 8, nonce 8,
//	                 echo 8 (0: none)
//	 4 LeaseAck      incarnation 8, digest 16, authority boot 8, nonce 8, moved 8 (0: none)
//	 5 JoinReq *     boot 8
//	 6 Challenge *   nonce 8, authority boot 8
//	 7 Join *        challenge 8, authority boot 8, nonce 8, boot 8, heartbeat 4, suspect 4, fail 4,
//	                 write lease 4 (ms), acks of all 1 (0 or 1), certificate blob (empty, or at
//	                 most view.CertificateMax), signature 64
//	 8 JoinState *   nonce 8, table, want 1 (0 or 1)
//	 9 JoinReady *   nonce 8, table
//	10 Confirm       nonce 8, certificate blob (1 to view.CertificateMax), table
//	   table         records 2, digest 16
//	11 Refuse *      nonce 8, word 1 (not ok), retry 4 (ms)
//	12 View          certificate blob (1 to view.CertificateMax), table, kept 1 (at most KeptMax),
//	                 that many objects 32 each, ascending
//	13 ViewAck       epoch 8, digest 16
//	14 ViewReq *     all 1 (0 or 1)
//	15 StaleEpoch    current 8, authority boot 8, node 16, boot 8, signature 64
//	16 RouteReq      request, first epoch 8, object 32, op 1, class 1, durability 1,
//	                 expected version 8, copies 1 (at most CopiesMax), within 4 (ms, 1 to
//	                 WithinMax), value blob (at most ValueMax), capability 129
//	17 RouteRep *    request, word 1, home 16, home epoch 8, version 8, class 1, durability 1,
//	                 copies 1, age 4 (ms), value blob (at most ValueMax)
//	   request       client 16, boot 8, sequence 8
//	18 Move          object 32, from 16, to 16, epoch 8, move epoch 8, signature 64, since 8,
//	                 record epoch 8, version 8, request, request digest 16, value blob (at most
//	                 ValueMax), window blob (at most WindowMax)
//	19 MoveAck       object 32, move epoch 8, active 1 (0 or 1)
//	20 Record *      mode 1 (1 replicate, 2 state, 3 hand-over, 4 proof), object 32, home 16,
//	                 home's boot 8, authority boot 8, record epoch 8, version 8 (from 1), request,
//	                 request digest 16, value blob (at most ValueMax), window blob (at most
//	                 WindowMax)
//	21 RecordAck *   epoch 8 (0: none), authority boot 8, object 32, record digest 16, node 16,
//	                 its boot 8
//	22 RecordRefuse * as RecordAck, then word 1 (not ok), held epoch 8, held version 8
//	23 Forward       from 16, to 16, frame blob (a RouteReq or RouteRep, at most ForwardMax)
//	24 Published     count 1 (1 to PublishedMax), for each, ascending: object 32, record epoch 8,
//	                 version 8 (from 1)
//
// A stat has durability none, expected version 2^64-1 (any), copies 0 and no value; a commit is
// local or replicated. A refusal carries no value; only a stale-ok answer has an age. A move's
// record is all zeros for an object that was never committed, and for everybody but the node that
// gets it.
//
// Signatures are Ed25519 over a domain and the fields of the body before the signature:
//
//	Join        "holdfast/join\0", the joiner's node id 16, fields; by the joiner
//	StaleEpoch  "holdfast/stale\0", fields; by the authority
//	Move        "holdfast/move\0", fields; by the authority; the record behind it is not covered
//
// The digest of a record is id.Sum over "holdfast/record\0", object 32, epoch 8, version 8,
// request 32, request digest 16 and the value; that of a table, over "holdfast/table\0" and, for
// each record in the order of their objects, object 32, epoch 8, version 8, record digest 16.
//
// The digest of a request is id.Sum over "holdfast/request\0", object 32, op 1, expected version 8,
// durability 1 and the value.
package wire
