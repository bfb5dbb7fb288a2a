// Package pagetest checks what a page of package page has to be: well-formed, with nothing from
// outside, no script but its own, and no link or label that leads nowhere. It is for tests; it
// judges no content and shows no page.
package pagetest

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Check returns what is wrong with a page.
func Check(page string) []string {
	c := checker{ids: make(map[string]bool), z: html.NewTokenizer(strings.NewReader(page))}
	for {
		kind := c.z.Next()
		if kind == html.ErrorToken {
			if err := c.z.Err(); !errors.Is(err, io.EOF) {
				c.say("it cannot be read: %v", err)
			}
			break
		}
		c.token(kind, c.z.Token())
	}
	for _, open := range c.open {
		c.say("<%s> is not closed", open)
	}
	for _, id := range c.wanted {
		if !c.ids[id] {
			c.say("nothing has the id %q", id)
		}
	}
	for _, script := range c.scripts {
		sum := sha256.Sum256([]byte(script))
		if !strings.Contains(c.policy, base64.StdEncoding.EncodeToString(sum[:])) {
			c.say("the policy does not know the script that begins %.40q", script)
		}
	}
	if !strings.HasPrefix(c.policy, "default-src 'none';") {
		c.say("the policy is %q", c.policy)
	}
	return c.wrong
}

type checker struct {
	z       *html.Tokenizer
	open    []string // elements, outermost first
	ids     map[string]bool
	wanted  []string // ids that something refers to
	scripts []string
	policy  string
	wrong   []string
}

func (c *checker) say(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// void are the elements of HTML that have no end tag.
var void = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta",
	"source", "track", "wbr"}

func (c *checker) token(kind html.TokenType, t html.Token) {
	switch kind {
	case html.StartTagToken:
		if !slices.Contains(void, t.Data) {
			c.open = append(c.open, t.Data)
		}
		c.attributes(t)
	case html.SelfClosingTagToken:
		if !slices.Contains(c.open, "svg") && t.Data != "svg" {
			c.say("<%s/> outside of a picture", t.Data)
		}
		c.attributes(t)
	case html.EndTagToken:
		last := len(c.open) - 1
		if last < 0 || c.open[last] != t.Data {
			c.say("</%s> closes %v", t.Data, c.open)
			return
		}
		c.open = c.open[:last]
	case html.TextToken:
		c.text(t.Data)
	}
}

// text looks at what stands in an element.
func (c *checker) text(text string) {
	if len(c.open) == 0 {
		return
	}
	switch c.open[len(c.open)-1] {
	case "script":
		c.scripts = append(c.scripts, text)
	case "style":
		inside := strings.ReplaceAll(text, "url(#", "") // a part of the page itself
		for _, outside := range []string{"url(", "@import"} {
			if strings.Contains(inside, outside) {
				c.say("the style has %s", outside)
			}
		}
	}
}

// loading are the attributes that make a browser load or run something.
var loading = []string{"src", "srcset", "data", "action", "formaction", "poster", "background",
	"ping", "manifest", "xlink:href", "srcdoc"}

// pointing are the attributes that name ids.
var pointing = []string{"for", "aria-labelledby", "aria-describedby", "aria-controls"}

func (c *checker) attributes(t html.Token) {
	seen := make(map[string]bool)
	for _, a := range t.Attr {
		name := a.Key
		if a.Namespace != "" {
			name = a.Namespace + ":" + a.Key
		}
		seen[name] = true
		switch {
		case slices.Contains(loading, name), strings.HasPrefix(name, "on"):
			c.say("<%s %s=%.60q> loads or runs something", t.Data, name, a.Val)
		case name == "href" && !strings.HasPrefix(a.Val, "#"):
			c.say("<%s href=%.60q> leads outside", t.Data, a.Val)
		case name == "href":
			c.wanted = append(c.wanted, a.Val[1:])
		case slices.Contains(pointing, name):
			c.wanted = append(c.wanted, strings.Fields(a.Val)...)
		case name == "id" && c.ids[a.Val]:
			c.say("the id %q stands twice", a.Val)
		case name == "id":
			c.ids[a.Val] = true
		case name == "style" && strings.Contains(a.Val, "url("):
			c.say("<%s> has a style with url()", t.Data)
		}
	}
	if t.Data == "meta" && seen["http-equiv"] {
		for _, a := range t.Attr {
			if a.Key == "content" {
				c.policy = a.Val
			}
		}
	}
}
