package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleepEndsWithTheTimeOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		System.AfterFunc(3*time.Second, cancel)
		began := System.Now()
		if !Sleep(ctx, System, 2*time.Second) || System.Now().Sub(began) != 2*time.Second {
			t.Errorf("slept until %v", System.Now().Sub(began))
		}
		if Sleep(ctx, System, 2*time.Second) || System.Now().Sub(began) != 3*time.Second {
			t.Errorf("slept through the cancellation, until %v", System.Now().Sub(began))
		}
	})
}

func TestTheCauseTellsATimeoutFromACancellation(t *testing.T) {
	for name, c := range map[string]struct {
		end  time.Duration // when the parent is cancelled
		stop bool          // the caller is done at once
		took time.Duration
		want error
	}{
		"timeout":                {time.Minute, false, time.Second, context.DeadlineExceeded},
		"the parent is done":     {time.Second / 2, false, time.Second / 2, context.Canceled},
		"the caller is finished": {time.Minute, true, 0, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, end := context.WithCancel(t.Context())
				defer end()
				System.AfterFunc(c.end, end)
				began := System.Now()
				ctx, cancel := WithTimeout(parent, System, time.Second)
				defer cancel()
				if c.stop {
					cancel()
				}
				<-ctx.Done()
				if took := System.Now().Sub(began); took != c.took {
					t.Errorf("done after %v, want %v", took, c.took)
				}
				if cause := context.Cause(ctx); !errors.Is(cause, c.want) {
					t.Errorf("cause %v, want %v", cause, c.want)
				}
			})
		})
	}
}

func TestATimerIsStoppedAndResetLikePackageTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := System.Now()
		fired := make(chan time.Duration, 2)
		timer := System.AfterFunc(time.Second, func() { fired <- System.Now().Sub(began) })
		if !timer.Stop() || timer.Stop() {
			t.Error("Stop does not say whether there was something to stop")
		}
		timer.Reset(2 * time.Second)
		timer.Reset(3 * time.Second)
		if at := <-fired; at != 3*time.Second {
			t.Errorf("fired at %v", at)
		}
		timer.Reset(time.Second)
		if at := <-fired; at != 4*time.Second {
			t.Errorf("fired again at %v", at)
		}
	})
}
