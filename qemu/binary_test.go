package qemu

import "testing"

func TestDatagramsAreFoundInTheListOfDevices(t *testing.T) {
	for help, ok := range map[string]bool{
		"Available netdev backend types:\nsocket\nstream\ndgram\nuser\n":   true,
		"Available netdev backend types:\nsocket\r\ndgram\r\n":             true,
		"Available netdev backend types:\nsocket\nuser\n":                  false,
		"Available netdev backend types:\nno-dgram-here\ndgram-and-more\n": false,
		"": false,
	} {
		if err := findDatagrams(help); (err == nil) != ok {
			t.Errorf("%q: %v", help, err)
		}
	}
}
