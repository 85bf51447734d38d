package measure_test

import (
	"os/exec"
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
