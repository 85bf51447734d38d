package main

import "gantry/bench/contest"

var overSVN = contest.Entry(gantryName, bySVN)

// goals for two cores, which gantry shares with the server.
var goals = []contest.Goal{
	contest.AtLeast(10, "times as fast as svn-all-fast-export", contest.Faster, overSVN, contest.Entry(allFastExportName, byFiles)),
	contest.AtLeast(5, "times as fast as reposurgeon with its dump", contest.Faster, overSVN, contest.Entry(reposurgeonName, byDump)),
	contest.AtLeast(100, "times as fast as git svn", contest.Faster, overSVN, contest.Entry(gitSVNName, bySVN)),
	contest.AtMost(2, "times the time of svnrdump over svn://", contest.Faster, contest.Entry(svnrdumpName, bySVN), overSVN),
	contest.AtMost(1.5, "times the time of svnrdump over http", contest.Faster, contest.Entry(svnrdumpName, byHTTP), contest.Entry(gantryName, byHTTP)),
	contest.AtLeast(10, "times as fast as svnrdump over http, far away", contest.Faster, contest.Entry(gantryName, byFar), contest.Entry(svnrdumpName, byFar)),
	contest.AtMost(300, "MB of memory", contest.Megabytes, overSVN, overSVN),
	contest.AtMost(1.2, "times the memory for a quarter of the history", contest.MoreMemory, contest.Entry(smallName, bySVN), overSVN),
	contest.AtMost(2, "times the size of what git repack -adf makes", contest.Larger, contest.Entry(repackName, byRepository), overSVN),
	contest.AtMost(2, "seconds to map again", contest.Seconds, contest.Entry(remapName, byStaging), contest.Entry(remapName, byStaging)),
}
