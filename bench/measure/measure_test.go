package measure_test

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"gantry/bench/measure"
)

// What a grandchild uses counts: converters let others work for them.
func TestRunCountsGrandchildren(t *testing.T) {
	t.Parallel()
	work := `python3 -c "
import time
data = bytearray(b'x') * (120 << 20)
end = time.process_time() + 0.4
while time.process_time() < end: pass
"; true`
	cost, err := measure.Run(exec.Command("sh", "-c", work))
	if err != nil {
		t.Fatal(err)
	}
	if cost.CPU < 400*time.Millisecond || cost.Wall < 400*time.Millisecond {
		t.Errorf("0.4 s of work counted as %s of processor time in %s", cost.CPU, cost.Wall)
	}
	if cost.Peak < 120<<20 {
		t.Errorf("120 MiB of memory counted as %d bytes", cost.Peak)
	}
}

// A server's work counts while it runs, also that of the processes it started.
func TestCPUCountsRunningChildren(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "sh -c 'while :; do :; done' & wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	}()
	for deadline := time.Now().Add(time.Minute); measure.CPU(cmd.Process.Pid) < 200*time.Millisecond; {
		if time.Now().After(deadline) {
			t.Fatal("the work of a child is not seen")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
