package usage

import (
	"flag"
	"io"
	"strings"
	"testing"
)

func TestAWrongCommandLineIsSaidAndEndsWith64(t *testing.T) {
	const line = "x [-n N]"
	for _, c := range []struct {
		args string
		code int
		over bool
		says []string
	}{
		{"", 0, false, nil},
		{"-n 3", 0, false, nil},
		{"-n 0", Exit, true, []string{"usage: x [-n N]\n"}},
		{"-n 3 more", Exit, true, []string{"usage: x [-n N]\n"}},
		{"-n three", Exit, true, []string{`invalid value "three"`, "usage: x [-n N]\n"}},
		{"-m 3", Exit, true, []string{"not defined: -m", "usage: x [-n N]\n"}},
		{"-h", 0, true, []string{"usage: x [-n N]\n", "how many"}},
	} {
		flags := flag.NewFlagSet("x", flag.ExitOnError)
		flags.SetOutput(io.Discard)
		n := flags.Int("n", 1, "how many")
		var said strings.Builder
		code, over := parse(flags, strings.Fields(c.args), &said, line,
			func() bool { return flags.NArg() == 0 && *n > 0 })
		if code != c.code || over != c.over || c.says == nil && said.Len() > 0 {
			t.Errorf("%q: %d, %t, %q", c.args, code, over, said.String())
		}
		for _, want := range c.says {
			if strings.Count(said.String(), want) != 1 {
				t.Errorf("%q: %q does not say %q once", c.args, said.String(), want)
			}
		}
	}
}
