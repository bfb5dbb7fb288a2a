package web

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// requireChromium, when it is set, makes a missing browser a failure.
const requireChromium = "HOLDFAST_REQUIRE_CHROMIUM"

// browserLimit bounds the whole test on a machine that is busy.
const browserLimit = 2 * time.Minute

// browser starts a headless Chromium that ends with the test, and returns its context and what a
// page complained of or loaded.
func browser(t *testing.T) (context.Context, func() []string) {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	switch {
	case path != "":
	case os.Getenv(requireChromium) != "":
		t.Fatal("no Chromium in PATH")
	default:
		t.Skip("no Chromium in PATH: the page was not clicked through (make report-test installs one)")
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(chromedp.ExecPath(path),
		chromedp.Headless, chromedp.NoSandbox, chromedp.WindowSize(1280, 900)))
	t.Cleanup(cancel)

	var mu sync.Mutex
	var complaints []string
	err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded:
			complaints = append(complaints, "log: "+e.Entry.Text)
		case *runtime.EventExceptionThrown:
			complaints = append(complaints, "exception: "+e.ExceptionDetails.Text)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "file:") {
				complaints = append(complaints, "request: "+e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(complaints)
	}
}

// stage writes the report of a stored run, with a console line that wants to run a script.
func stage(t *testing.T) string {
	t.Helper()
	records := stored(t, "kill-peer")
	for i := range records {
		if strings.HasPrefix(records[i].Line, "holdfast ") {
			records[i].Line = `</span><img src=x onerror="document.title='taken'"><script>boom()</script>`
		}
	}
	path := filepath.Join(t.TempDir(), File)
	if err := os.WriteFile(path, []byte(written(t, input(t, records))), 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

// expect waits until an expression in the page is true: the test has no other clock.
func expect(what, expression string) chromedp.Action[chromedp.Void] {
	poll := chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(browserLimit/4))
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := poll(ctx, target); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	})
}

// run runs a statement in the page.
func run(statement string) chromedp.Action[chromedp.Void] {
	return expect(statement, "(() => { "+statement+"; return true; })()")
}

func TestThePageCanBeClickedThrough(t *testing.T) {
	ctx, complaints := browser(t)
	const timed = `[...document.querySelectorAll(".check")]` +
		`.find(c => c.querySelector(".title").textContent === "suspect-rig-clock")`
	err := chromedp.Do(ctx,
		chromedp.Navigate(stage(t)),
		expect("hostile text stays text",
			`document.title.startsWith("kill-peer") && !document.querySelector("img")`),

		// A check opens, and lights what proves it.
		run(timed+`.id = "timed"`),
		chromedp.Click(chromedp.CSS(`#timed summary`)),
		expect("the check opens", `document.querySelector("#timed").open`),
		expect("its console lines are lit", `document.querySelectorAll(".line.lit").length > 0`),
		expect("its moments are marked", `document.querySelectorAll("#moments line").length > 0`),
		chromedp.Click(chromedp.CSS(`#timed .proof li:last-child button`)),
		expect("a record is told", `/record \d+/.test(document.querySelector("#told").textContent)`),
		expect("its moment is marked", `document.querySelectorAll("#moments .now").length === 1`),

		// The diagram zooms by button and by key, and its records can be stepped through.
		chromedp.Click(chromedp.CSS(`#in`)),
		expect("it is wider", `document.querySelector("#zoom").textContent === "2×"`),
		expect("and scrolls", `(s => s.scrollWidth > 1.9 * s.clientWidth)(`+
			`document.querySelector("#scroll"))`),
		chromedp.Focus(chromedp.CSS(`#scroll`)),
		chromedp.KeyEvent("+"), chromedp.KeyEvent("+"),
		expect("finer ticks are there", `document.querySelector("#chart").dataset.level === "1"`),
		chromedp.Click(chromedp.CSS(`#timed .proof li:first-child button`)),
		expect("the diagram shows the record's moment", `(() => {
			const s = document.querySelector("#scroll").getBoundingClientRect();
			const m = document.querySelector("#moments .now").getBoundingClientRect();
			return s.left <= m.left && m.right <= s.right;
		})()`),
		chromedp.Focus(chromedp.CSS(`#scroll`)), chromedp.KeyEvent("0"),
		expect("it fits again", `document.querySelector("#zoom").textContent === "1×"`),
		run(`document.querySelector("#dark").click()`), // by no place, which the zoom may still move
		expect("the lights are out", `document.querySelectorAll(".lit, .now").length === 0`),
		chromedp.Focus(chromedp.CSS(`#scroll`)), chromedp.KeyEvent("."),
		expect("the first record is told",
			`/record \d+/.test(document.querySelector("#told").textContent)`),

		// The keyboard reaches the checks.
		chromedp.Focus(chromedp.CSS(`#check-1 summary`)), chromedp.KeyEvent(kb.Enter),
		expect("a check opens by key", `document.querySelector("#check-1").open`),

		// The colours change on demand.
		run(`window.before = getComputedStyle(document.body).backgroundColor`),
		chromedp.Click(chromedp.CSS(`#theme`)),
		expect("the colours change",
			`getComputedStyle(document.body).backgroundColor !== window.before`),
	)
	if err != nil {
		t.Error(err)
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}

// shifted is by how much a page's content moved by itself, in the browser's measure.
const shifted = `new Promise(done => {
	let sum = 0;
	new PerformanceObserver(list => list.getEntries().forEach(e => sum += e.value))
		.observe({type: "layout-shift", buffered: true});
	requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
})`

// TestThePageFitsEveryScreen looks at the width of a telephone and of a desk, light and dark.
func TestThePageFitsEveryScreen(t *testing.T) {
	ctx, complaints := browser(t)
	at := stage(t)
	for _, width := range []int64{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			media := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
				_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia,
					emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
						{Name: "prefers-color-scheme", Value: scheme}}})
				return err
			})
			err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), media,
				chromedp.Navigate(at), expect("it is drawn", `document.readyState === "complete"`))
			if err != nil {
				t.Fatal(err)
			}
			overflow, err := chromedp.Run(ctx, chromedp.Evaluate[int64](
				`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
			if err != nil {
				t.Fatal(err)
			}
			shift, err := chromedp.Run(ctx, chromedp.Evaluate[float64](shifted, chromedp.EvalAwaitPromise))
			if err != nil || overflow > 0 || shift > 0 {
				t.Errorf("%d wide, %s: %d pixels too wide, layout shift %v, %v",
					width, scheme, overflow, shift, err)
			}
		}
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}
