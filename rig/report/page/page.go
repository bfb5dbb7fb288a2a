// Package page is what the rig's pages have in common: one file that opens without a network, its
// stylesheet, its light and dark colours, and charts. It owns how a page looks and never what it
// says: it imports nothing of the rig.
//
// A Document is a heading, facts and sections; Write makes the file. A section's HTML comes from
// html/template, which is what keeps hostile text out; a content security policy forbids
// everything from outside and every script but those that Write put in, so that a slip there still
// runs nothing.
//
// Charts are SVG in which x is a percentage and y is in pixels: they are as wide as their place,
// whatever the screen, and letters and lines keep their size. They are Plot (lines and dots over an
// axis, with bounds) and Gauge (one value between its bounds, inside a line of text).
//
// # Classes
//
// These are for a section's HTML:
//
//	good bad open    the colours of a tone, on text or with class badge
//	badge            a word in a box
//	soft             less important text
//	mono             console text
//	num              a column of numbers, right-aligned with equal digits
//	scroll           a box that scrolls by itself: give it tabindex=0, a role and a label
//	cards            children side by side, as many as fit
//	s0 ... s5        the colours of series, as --c, on anything that paints with it
//
// Tables, buttons, inputs, details and code need no class. Colours are the variables --bg, --panel,
// --ink, --soft, --line, --accent, --good, --bad, --open and --s0 to --s5.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Tone says how good something is, and so its colour.
type Tone string

// The tones. Plain has no colour.
const (
	Plain Tone = ""
	Good  Tone = "good"
	Bad   Tone = "bad"
	Open  Tone = "open" // unknown, or worth a look
)

// Document is one page.
type Document struct {
	Title    string // a few words
	Tone     Tone   // of Word
	Word     string // the result in a word; "" for none
	Lead     string // a sentence or two on what the page shows
	Facts    []Fact
	Sections []Section
	Style    string // CSS that follows the shared one
	Script   string // JavaScript that runs when the page is there
}

// Fact is a thing to know of what the page is about.
type Fact struct{ Name, Value string }

// Section is a part of a page that can be linked to.
type Section struct {
	ID    string // of the element
	Title string
	Note  string // a sentence under the title; "" for none
	HTML  template.HTML
}

var (
	//go:embed page.css
	style string
	//go:embed theme.js
	theme string
	//go:embed page.html
	layout string

	pageTemplate = template.Must(template.New("page").Parse(layout))
)

// Write makes the file. Style and Script must not hold an end tag: they are the program's own text
// and never a guest's, so that one there is a mistake of the caller and panics.
func (d Document) Write(w io.Writer) error {
	for _, text := range []string{d.Style, d.Script} {
		if strings.Contains(text, "</") {
			panic("page: an end tag in a style or script")
		}
	}
	body := new(bytes.Buffer)
	if err := pageTemplate.Execute(body, d); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	policy := "default-src 'none'; style-src 'unsafe-inline'; script-src " + hash(theme)
	end := ""
	if d.Script != "" {
		policy += " " + hash(d.Script)
		end = "<script>" + d.Script + "</script>\n"
	}
	head := `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="` + policy + `">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="holdfast rig">
<title>` + template.HTMLEscapeString(d.Title) + `</title>
<style>` + style + d.Style + `</style>
<script>` + theme + `</script>
</head>
`
	_, err := io.WriteString(w, head+body.String()+end+"</html>\n")
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// hash names a script in a policy.
func hash(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
