// Package githelper is what git calls back while it fetches: Gantry's own program, run again as git's credential helper,
// git:// proxy command and ssh client. See gitcredentials(7), core.gitProxy and GIT_SSH in git(1).
//
// What it must know (credentials, the egress proxy) comes over an inherited descriptor, so that it is in no argument
// list, environment, address or file.
package githelper

// Word is the hidden command word by which the program is called back.
const Word = "git-helper"

// Main does what git asks for when args (without the program's name) begin with Word. It is to be called first thing by
// every program that fetches from Git origins, tests included: the program itself (os.Executable) is the helper.
func Main(args []string) (handled bool, code int) {
	if len(args) == 0 || args[0] != Word {
		return false, 0
	}
	return true, 1
}
