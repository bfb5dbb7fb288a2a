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
// 0, except RouteRep's home epoch and a client's boot. Bodies:
//
//	 1 Ping *        nonce 8
//	 2 Pong *        nonce 8
//	 3 LeaseReq      node 16, incarnation 8, boot 8, digest 16, authority boot 8, nonce 8,
//	                 echo 8 (0: none)
//	 4 LeaseAck      incarnation 8, digest 16, authority boot 8, nonce 8, moved 8 (0: none)
//	 5 JoinReq *     boot 8
//	 6 Challenge *   nonce 8, authority boot 8
//	 7 Join *        challenge 8, authority boot 8, nonce 8, boot 8, heartbeat 4, suspect 4, fail 4,
//	                 write lease 4 (ms), certificate blob (empty, or at most view.CertificateMax),
//	                 signature 64
//	 8 JoinState     nonce 8, records 2, digest 16
//	 9 JoinReady *   nonce 8
//	10 Confirm       nonce 8, certificate blob (1 to view.CertificateMax)
//	11 Refuse *      nonce 8, word 1 (not ok), retry 4 (ms)
//	12 View          certificate blob (1 to view.CertificateMax)
//	13 ViewAck       epoch 8, digest 16
//	14 ViewReq       nothing
//	15 StaleEpoch    current 8, authority boot 8, node 16, boot 8, signature 64
//	16 RouteReq      request, first epoch 8, object 32, op 1, class 1, durability 1,
//	                 expected version 8, value blob (at most ValueMax), capability 129
//	17 RouteRep *    request, word 1, home 16, home epoch 8, version 8, class 1, durability 1,
//	                 copies 1, value blob (at most ValueMax)
//	   request       client 16, boot 8, sequence 8
//	18 Move          object 32, from 16, to 16, epoch 8, move epoch 8, signature 64, since 8,
//	                 record epoch 8, version 8, value blob (at most ValueMax), window blob (at most
//	                 WindowMax)
//	19 MoveAck       object 32, move epoch 8, active 1 (0 or 1)
//
// A stat has durability none, expected version 2^64-1 (any) and no value; a commit is local or
// replicated. A refusal carries no value. A move's record is all zeros for an object that was never
// committed, and for everybody but the node that gets it.
//
// Numbers 20 to 23 are reserved for the kinds of replication; until those exist, a frame of such a
// kind is malformed.
//
// Signatures are Ed25519 over a domain and the fields of the body before the signature:
//
//	Join        "holdfast/join\0", the joiner's node id 16, fields; by the joiner
//	StaleEpoch  "holdfast/stale\0", fields; by the authority
//	Move        "holdfast/move\0", fields; by the authority; the record behind it is not covered
//
// The digest of a request is id.Sum over "holdfast/request\0", object 32, op 1, expected version 8,
// durability 1 and the value.
package wire
