package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gantry"
)

const convertHelp = `Convert a repository into a new bare Git repository at DIR, without a server.

ORIGIN is the address of a Git, Subversion or Mercurial repository, or a file: a Subversion dump (formats 2 and 3; plain,
gzip or zstd), a Mercurial bundle of any kind, or a Git bundle. The origin - is a dump, or with --vcs hg a Mercurial
bundle, on standard input. DIR appears when it is complete. An interrupted conversion is kept in DIR.partial: the same
command goes on where it stopped. What was read is kept in DIR/gantry afterwards: the same command, run again, reads what
is new at the origin and moves the branches on. Without it DIR is complete, too; delete it when nothing new is to come.

--authors names a CSV file with the columns remote_id,remote_name,email,name. Authors that are not in it keep the
identity that the origin gives them.

The flags --layout, --keep-empty, --ignores and --empty-dirs are for Subversion, --attributes, --externals and --trailers
for Mercurial, too, and --subrepos and --lfs-url for Mercurial. Without them the layout is found out from the history, and nothing is
added to trees and messages. --subrepos names a CSV file with the columns source,url,map: for a subrepository's source as
.hgsub has it, the address of its Git repository, and the file that --map wrote when that was converted.

--map writes one line for each commit, tab separated: the commit's id, the path or name of its branch at the origin, the
revision's id at the origin. Mercurial's changesets all have a line, also where several are one commit.`

func newConvert(con console) *cobra.Command {
	var (
		job           conversion
		vcs           string
		passwordStdin bool
		asJSON        bool
	)
	cmd := &cobra.Command{
		Use:   "convert ORIGIN DIR",
		Short: "Convert one repository into a bare Git repository, without a server",
		Long:  convertHelp,
		Args:  exactArgs("ORIGIN", "DIR"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			job.origin, job.dir, job.stdin = args[0], args[1], con.in
			if job.origin == "" || job.dir == "" {
				return usagef("ORIGIN and DIR cannot be empty")
			}
			if vcs != "" {
				var ok bool
				if job.vcs, ok = gantry.ParseVCS(vcs); !ok {
					return usagef("--vcs: %q is none of git, subversion, mercurial and tfvc", vcs)
				}
			}
			if job.origin == "-" && (passwordStdin || job.vcs != "" && job.vcs != gantry.Subversion && job.vcs != gantry.Mercurial) {
				return usagef("%q reads a Subversion dump or a Mercurial bundle from standard input: --password-stdin and another --vcs do not go with it", job.origin)
			}
			if passwordStdin {
				if job.password, err = readPassword(con.in); err != nil {
					return err
				}
			}
			out := newConvertOutput(con, asJSON)
			job.progress = out.progress
			job.log = commandLog(con)
			report, err := job.run(cmd.Context())
			if err != nil {
				out.stop()
				if cmd.Context().Err() != nil {
					fmt.Fprintln(con.err, "gantry: interrupted; the same command goes on where it stopped")
				}
				return err
			}
			return out.report(report, job.dir)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&vcs, "vcs", "", "system at the origin: git, subversion or mercurial; found out when not given")
	flags.StringVar(&job.authors, "authors", "", "CSV `FILE` that gives authors their Git identities")
	flags.StringVar(&job.username, "username", "", "user name for the origin")
	flags.BoolVar(&passwordStdin, "password-stdin", false, "read the password for the origin from standard input")
	flags.StringVar(&job.project, "project", "", "`PATH` of one project, when the origin holds several")
	flags.StringVar(&job.layout, "layout", "", "`FILE` of rules that say which paths are branches and tags; found out when not given")
	flags.BoolVar(&job.shape.KeepEmpty, "keep-empty", false, "make commits of revisions that change no file, too")
	flags.BoolVar(&job.shape.Ignores, "ignores", false, "make .gitignore files from svn:ignore and svn:global-ignores")
	flags.BoolVar(&job.shape.Externals, "externals", false, "make .gitmodules files from svn:externals, or from Mercurial's subrepositories")
	flags.StringVar(&job.subrepos, "subrepos", "", "CSV `FILE` that says what Mercurial's subrepositories are in Git; with --externals")
	flags.BoolVar(&job.shape.Attributes, "attributes", false, "make .gitattributes files from svn:eol-style, svn:keywords and svn:mime-type, or for pointers to objects of Git LFS")
	flags.StringVar(&job.lfs, "lfs-url", "", "`URL` of the Git LFS store of a Mercurial server, when it is not the server's own")
	flags.BoolVar(&job.shape.EmptyDirs, "empty-dirs", false, "put a placeholder into each empty directory")
	flags.BoolVar(&job.shape.Trailers, "trailers", false, "name the revision, and what else Mercurial says of it, at the end of each message")
	flags.StringVar(&job.defaultBranch, "default-branch", "main", "name that a trunk, or Mercurial's default, is given")
	flags.StringVar(&job.mapFile, "map", "", "`FILE` to write with the origin of each commit")
	flags.StringVar(&job.git, "git", "git", "the git program")
	jsonFlag(cmd, &asJSON)
	return cmd
}
