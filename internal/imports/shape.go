package imports

import (
	"context"

	"gantry"
	"gantry/internal/history"
	"gantry/internal/repos"
	"gantry/internal/store"
)

// reshape changes how a history becomes Git. An import that asks for a project goes on with the one that is named.
func (s *Service) reshape(ctx context.Context, repo *repos.View, in Update) (*gantry.Import, error) {
	return s.remap(ctx, repo, "svn_options", func(tx *store.Tx, row *store.Import) (bool, error) {
		changed, err := setShape(tx, row, in)
		if err == nil && row.Status == gantry.StatusDetectionFoundMultiple && (row.SVNRoot != "" || row.Shape.Layout != "") {
			restart(row, gantry.StatusImporting)
			err = s.release(ctx, tx, row)
			changed = false // which is all there is to do
		}
		return changed, err
	})
}

// setShape writes the part of an update that is about the shape, and reports whether it is another one now.
func setShape(tx *store.Tx, row *store.Import, in Update) (changed bool, err error) {
	root, shape := row.SVNRoot, row.Shape
	if in.SVNRoot != nil {
		row.SVNRoot = *in.SVNRoot
	}
	if in.Shape != nil {
		row.Shape = *in.Shape
	}
	if root == row.SVNRoot && shape == row.Shape {
		return false, nil
	}
	if err := checkShape("imports.Update", row.VCS, row.Shape); err != nil {
		return false, err
	}
	return true, tx.SetImportShape(row.ID, row.SVNRoot, row.Shape)
}

// checkShape reports what of a shape cannot be done.
func checkShape(op string, vcs gantry.VCS, shape gantry.Shape) error {
	if shape == (gantry.Shape{}) {
		return nil
	}
	if !shape.Suits(vcs) {
		return invalid(op, "svn_options", gantry.InvalidField, "svn_options are for Subversion; this import is of "+string(vcs)+", and for this "+suited(vcs))
	}
	if _, err := history.ParseRules(shape.Layout); err != nil {
		return invalid(op, "svn_options", gantry.InvalidField, gantry.Message(err))
	}
	return nil
}

// suited says which options there are for a system.
func suited(vcs gantry.VCS) string {
	if vcs == gantry.Mercurial {
		return "there are attributes, externals and trailers only"
	}
	return "there are none of them"
}
