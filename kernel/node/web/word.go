package web

import (
	"net/http"

	"holdfast/mesh/refusal"
)

// statuses is how a refusal by the mesh is answered; any word that is not here is 503, which says
// that the same request may be accepted at another time (evidence.md, "HTTP").
var statuses = map[refusal.Word]int{
	refusal.Malformed:       http.StatusBadRequest,
	refusal.BadCapability:   http.StatusUnauthorized,
	refusal.NoObject:        http.StatusNotFound,
	refusal.VersionConflict: http.StatusConflict,
	refusal.TooLarge:        http.StatusRequestEntityTooLarge,
	refusal.NotHome:         http.StatusMisdirectedRequest,
	refusal.UnknownOutcome:  http.StatusGatewayTimeout,
}

// sentences is what the words mean to the client of a node.
var sentences = map[refusal.Word]string{
	refusal.StaleEpoch:      "the request or its capability is of an older epoch than the mesh's",
	refusal.UnknownEpoch:    "the request or its capability is of an epoch that is yet to come",
	refusal.NotHome:         "the node that was asked is not the object's home",
	refusal.NotCurrent:      "the home's lease has run out",
	refusal.NoAuthority:     "the authority of the mesh cannot be reached",
	refusal.NoRoute:         "the object's home cannot be reached",
	refusal.Replay:          "this request has been answered before, or its name stood for another",
	refusal.BadCapability:   "the capability does not allow this",
	refusal.BadSignature:    "a signature is not the authority's",
	refusal.Moved:           "the object has moved, and moved again",
	refusal.Draining:        "the object is being handed over",
	refusal.Full:            "too much is under way, or too many objects are there",
	refusal.Malformed:       "no node takes such a request",
	refusal.Disabled:        "this is not enabled here",
	refusal.UnknownOutcome:  "it may have been done, or not; a GET will tell",
	refusal.NoObject:        "nothing was ever stored under this name",
	refusal.VersionConflict: "the object has another version",
	refusal.Conflict:        "another record stands in the way",
	refusal.Unknown:         "the object's state is not known",
	refusal.NotAllowed:      "the node is not one of this mesh",
	refusal.WrongAuthority:  "the node has another authority",
	refusal.NotReady:        "this cannot be done yet",
	refusal.TooLarge:        "the value is too large",
	refusal.Timing:          "the times of the nodes do not go together",
	refusal.Quarantine:      "the authority has started, and waits for leases to run out",
	refusal.Duplicate:       "another boot of the node is alive",
	refusal.Fork:            "the authority has signed two histories",
}

// Word is the refusal with a word of the mesh and a sentence; an empty one stands for what the word
// means everywhere.
func Word(w refusal.Word, sentence string) Answer {
	status, ok := statuses[w]
	if !ok {
		status = http.StatusServiceUnavailable
	}
	if sentence == "" {
		sentence = sentences[w]
	}
	a := Refuse(status, w.String()+": "+sentence)
	if status == http.StatusUnauthorized {
		a.Header = challenge
	}
	return a
}

// challenge is what an answer of 401 must have (RFC 9110 section 15.5.2).
var challenge = http.Header{"Www-Authenticate": {scheme}}
