package pagetest

import (
	"strings"
	"testing"
)

const whole = `<!doctype html><html><head><meta http-equiv="Content-Security-Policy" ` +
	`content="default-src 'none';"></head><body><p id="a">x</p><a href="#a">y</a>` +
	`<style>p{fill:url(#a)}</style><svg><rect/></svg></body></html>`

func TestEachFlawIsFound(t *testing.T) {
	if wrong := Check(whole); len(wrong) != 0 {
		t.Fatalf("a page without flaws: %v", wrong)
	}
	for name, c := range map[string]struct{ insert, want string }{
		"an open element":     {"<b>", "closes"},
		"a wrong end":         {"</i>", "closes"},
		"half an element":     {"<rect/>", "outside of a picture"},
		"a picture":           {`<img src="x.png">`, "loads"},
		"a link outside":      {`<a href="http://example.org">x</a>`, "leads outside"},
		"a dead link":         {`<a href="#b">x</a>`, `"b"`},
		"a dead label":        {`<p aria-labelledby="a c">x</p>`, `"c"`},
		"an id twice":         {`<p id="a">x</p>`, "twice"},
		"a handler":           {`<p onclick="x()">x</p>`, "runs"},
		"a script":            {`<script>alert(1)</script>`, "policy"},
		"a style from afar":   {`<style>@import "x";</style>`, "@import"},
		"a style's url":       {`<style>p{fill:url(#a);src:url(x)}</style>`, "url("},
		"an attribute's url":  {`<p style="background:url(x)">x</p>`, "url()"},
		"an unclosed element": {`</body></html><div>`, "closed"},
	} {
		page := strings.Replace(whole, "<p id", c.insert+"<p id", 1)
		if wrong := strings.Join(Check(page), "\n"); !strings.Contains(wrong, c.want) {
			t.Errorf("%s: found %q, want %q", name, wrong, c.want)
		}
	}
	if wrong := Check(strings.Replace(whole, "default-src", "x", 1)); len(wrong) != 1 {
		t.Errorf("another policy: %v", wrong)
	}
}
