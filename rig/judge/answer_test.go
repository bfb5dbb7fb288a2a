package judge

import (
	"testing"

	"holdfast/mesh/evidence"
)

// TestMembersAreCountedByTheirRows has a page of GET /mesh with a row that is neither the node's
// nor a member's.
func TestMembersAreCountedByTheirRows(t *testing.T) {
	var a answer
	for _, text := range []string{
		"node id=" + ids[0] + " role=authority mesh=joined epoch=2 " +
			"digest=3d1f5b7792a4c6e8f00112233445566a mutable=1 now_ms=8200",
		"member id=" + ids[0] + " state=alive age_ms=0 incarnation=1",
		"member id=" + ids[1] + " state=alive age_ms=10 incarnation=2",
		"times heartbeat_ms=5000 suspect_ms=6000 fail_ms=12000 lease_ms=6000 fence=lease",
	} {
		line, err := evidence.ParseStatus(text)
		if err != nil {
			t.Fatal(err)
		}
		a.lines = append(a.lines, line)
	}
	if n := a.members(); n != 2 {
		t.Errorf("%d members, want 2", n)
	}
	if row, ok := a.nodeRow(); !ok || fieldOf(row, "epoch") != "2" {
		t.Errorf("the node's row is %v", row)
	}
}
