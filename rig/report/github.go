package report

import (
	"fmt"
	"io"
	"strings"

	"holdfast/rig/judge"
)

// What a workflow command of GitHub's takes for its own ends must be written otherwise; in a
// property more than in the message.
var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer(
		"%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// WriteGitHub writes the result as workflow commands: an error for each check that did not hold, or
// a notice when all did. folder is "" when the artefacts were not kept.
func (r Result) WriteGitHub(w io.Writer, proof, folder string) error {
	var b strings.Builder
	say := func(command, title, message string) {
		fmt.Fprintf(&b, "::%s title=%s::%s\n", command,
			commandProperty.Replace(title), commandData.Replace(message))
	}
	where := "\n" + r.Again()
	if folder != "" {
		where += "\n" + folder
	}
	for _, c := range r.Checks {
		if c.Status != judge.Held {
			say("error", fmt.Sprintf("%s: %s %s", r.Fault, c.Name, c.Status),
				fmt.Sprintf("%s\nwanted: %s (%s)%s", c.Detail, c.Claim, c.Source, where))
		}
	}
	if r.Exit == judge.CodeHeld {
		say("notice", r.Fault, fmt.Sprintf("all %d checks held: %s", len(r.Checks), proof))
	} else if r.early() {
		say("error", r.Fault+": ended early", strings.TrimSuffix(r.tailText(), "\n")+where)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Again is the command that runs the same fault with the same keys; where the file of a scenario of
// the user's is, only they know.
func (r Result) Again() string {
	if r.Own {
		return fmt.Sprintf("rig run --scenario FILE --seed %d", r.Seed)
	}
	return fmt.Sprintf("rig run --fault %s --seed %d", r.Fault, r.Seed)
}

// cell writes a text for a cell of a table in Markdown.
var cell = strings.NewReplacer(
	"|", `\|`, "\n", " ", "`", "'", "<", "&lt;", "&", "&amp;")

// WriteSummary writes the result as a section of a step summary, in Markdown.
func (r Result) WriteSummary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\nSeed %d, %.1f s, exit %d. Again: `%s`\n\n",
		r.Fault, r.Meaning, r.Seed, r.Seconds, r.Exit, r.Again())
	b.WriteString("| | check | rule | found |\n|---|---|---|---|\n")
	for _, c := range r.Checks {
		found := c.Detail
		if c.Margin != nil {
			found += margin(*c.Margin)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.Status, c.Name, c.Source, cell.Replace(found))
	}
	if r.early() {
		fmt.Fprintf(&b, "\n```\n%s```\n", r.tailText())
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
