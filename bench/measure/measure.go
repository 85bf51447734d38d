// Package measure tells what a command costs: wall-clock time, processor time of all its processes, peak memory. It
// reads proc(5) and therefore works on Linux only.
package measure

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Cost is what a command took, all its child processes included.
type Cost struct {
	Wall time.Duration `json:"wall_ns"`
	CPU  time.Duration `json:"cpu_ns"`     // user and system
	Peak int64         `json:"peak_bytes"` // resident memory of all processes together
}

// Run runs a command to its end. Memory is sampled, and never less than what the kernel saw of the largest process, as far
// as that can be told: a process begins with the peak of the one that starts it, which is this one.
func Run(cmd *exec.Cmd) (Cost, error) {
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return Cost{}, err
	}
	done := make(chan struct{})
	sampled := make(chan int64)
	go func() { sampled <- watch(cmd.Process.Pid, done) }()
	err := cmd.Wait()
	cost := Cost{Wall: time.Since(begin), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	close(done)
	cost.Peak = <-sampled
	var own syscall.Rusage
	if ownErr := syscall.Getrusage(syscall.RUSAGE_SELF, &own); ownErr != nil {
		return cost, errors.Join(err, ownErr)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > own.Maxrss {
		cost.Peak = max(cost.Peak, usage.Maxrss<<10)
	}
	return cost, err
}

// watch returns the most memory that a process and its descendants had together before done.
func watch(pid int, done <-chan struct{}) (peak int64) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return peak
		case <-tick.C:
			peak = max(peak, residentTree(pid))
		}
	}
}

// residentTree is the resident memory of a process and its descendants.
func residentTree(root int) (total int64) {
	for _, p := range family(root) {
		total += p.resident
	}
	return total
}

// CPU is the processor time that a running process and its descendants, also those that have ended, have used so far.
func CPU(root int) (total time.Duration) {
	for _, p := range family(root) {
		total += p.cpu
	}
	return total
}

// family returns a process and its descendants, as far as they run.
func family(root int) (found []process) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	children := map[int][]process{}
	for _, path := range stats {
		if p, err := read(path); err == nil { // else it has just ended
			children[p.parent] = append(children[p.parent], p)
			if p.pid == root {
				found = append(found, p)
			}
		}
	}
	for at := 0; at < len(found); at++ {
		found = append(found, children[found[at].pid]...)
	}
	return found
}

type process struct {
	pid, parent int
	cpu         time.Duration // with that of its children that have ended
	resident    int64
}

// read reads the fields of proc(5), /proc/PID/stat.
func read(path string) (process, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return process{}, err
	}
	// The second field is the command's name in parentheses, with whatever is in it.
	head, tail, ok := strings.Cut(string(data), " (")
	end := strings.LastIndexByte(tail, ')')
	if !ok || end < 0 {
		return process{}, fmt.Errorf("measure: %s: not understood", path)
	}
	fields := strings.Fields(tail[end+1:]) // from field 3 on
	if len(fields) < 22 {
		return process{}, fmt.Errorf("measure: %s: not understood", path)
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(fields[field-3], 10, 64)
		return n
	}
	const ticks = time.Second / 100 // USER_HZ of every Linux port that Go has
	pid, _ := strconv.Atoi(head)
	return process{
		pid:      pid,
		parent:   int(number(4)),
		cpu:      time.Duration(number(14)+number(15)+number(16)+number(17)) * ticks,
		resident: number(24) * int64(os.Getpagesize()),
	}, nil
}
