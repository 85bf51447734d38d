package imports

import (
	"context"
	"fmt"
	"strings"

	"gantry"
	"gantry/internal/repos"
	"gantry/internal/store"
)

// Authors returns the authors with an id greater than since, in the order of their ids.
func (s *Service) Authors(ctx context.Context, p gantry.Principal, repo *repos.View, since int64) ([]gantry.Author, error) {
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return nil, err
	}
	var authors []gantry.Author
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		row, err := tx.ImportByRepository(repo.Repository.ID)
		if err != nil {
			return err
		}
		authors, err = tx.ImportAuthors(row.ID, since)
		return err
	})
	return authors, err
}

// Author returns one author.
func (s *Service) Author(ctx context.Context, p gantry.Principal, repo *repos.View, id int64) (*gantry.Author, error) {
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return nil, err
	}
	var author *gantry.Author
	err := s.DB.Read(ctx, func(tx *store.Tx) error {
		row, err := tx.ImportByRepository(repo.Repository.ID)
		if err != nil {
			return err
		}
		author, err = tx.ImportAuthor(row.ID, id)
		return err
	})
	return author, err
}

// MapAuthor gives an author another Git identity; nil leaves a part as it is. After the raw step the import is mapped
// and pushed again, unless somebody else has pushed to the repository or the raw data is gone: then gantry.Invalid.
func (s *Service) MapAuthor(ctx context.Context, p gantry.Principal, repo *repos.View, id int64, email, name *string) (*gantry.Author, error) {
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return nil, err
	}
	var author *gantry.Author
	_, err := s.remap(ctx, repo, "author", func(tx *store.Tx, row *store.Import) (bool, error) {
		var err error
		if author, err = tx.ImportAuthor(row.ID, id); err != nil {
			return false, err
		}
		before := *author
		if email != nil {
			author.Email = *email
		}
		if name != nil {
			author.Name = *name
		}
		if faults := checkIdentity(author.Name, author.Email); len(faults) > 0 {
			return false, &gantry.Error{Kind: gantry.Invalid, Op: "imports.MapAuthor", Fields: faults}
		}
		if *author == before {
			return false, nil
		}
		return true, tx.SetImportAuthor(author)
	})
	if err != nil {
		return nil, err
	}
	return author, nil
}

// MapAuthors gives many authors other identities, all or none; errors name the line.
func (s *Service) MapAuthors(ctx context.Context, p gantry.Principal, repo *repos.View, rows []gantry.AuthorRow) error {
	if err := repos.Require(repo, gantry.PermWrite); err != nil {
		return err
	}
	_, err := s.remap(ctx, repo, "authors", func(tx *store.Tx, row *store.Import) (bool, error) {
		known, err := tx.ImportAuthors(row.ID, 0)
		if err != nil {
			return false, err
		}
		type key struct{ id, name string }
		authors := make(map[key]*gantry.Author, len(known))
		for i := range known {
			authors[key{known[i].RemoteID, known[i].RemoteName}] = &known[i]
		}
		var faults []gantry.FieldError
		var changed []*gantry.Author
		for _, r := range rows {
			author := authors[key{r.RemoteID, r.RemoteName}]
			if author == nil {
				faults = append(faults, gantry.AuthorFault(r.Line, fmt.Sprintf("there is no author %q (%s)", r.RemoteID, r.RemoteName)))
				continue
			}
			for _, fault := range checkIdentity(r.Name, r.Email) {
				faults = append(faults, gantry.AuthorFault(r.Line, fault.Message))
			}
			if author.Name != r.Name || author.Email != r.Email {
				author.Name, author.Email = r.Name, r.Email
				changed = append(changed, author)
			}
		}
		if len(faults) > 0 {
			return false, &gantry.Error{Kind: gantry.Invalid, Op: "imports.MapAuthors", Fields: faults}
		}
		for _, author := range changed {
			if err := tx.SetImportAuthor(author); err != nil {
				return false, err
			}
		}
		return len(changed) > 0, nil
	})
	return err
}

// checkIdentity says what of a Git identity cannot be kept in a commit.
func checkIdentity(name, email string) []gantry.FieldError {
	var faults []gantry.FieldError
	for _, part := range []struct{ field, value string }{{"name", name}, {"email", email}} {
		switch {
		case strings.TrimSpace(part.value) == "":
			faults = append(faults, gantry.FieldError{Resource: "Author", Field: part.field, Code: gantry.InvalidField, Message: part.field + " may not be empty"})
		case strings.ContainsFunc(part.value, func(r rune) bool { return r < ' ' || r == 0x7f || r == '<' || r == '>' }):
			faults = append(faults, gantry.FieldError{Resource: "Author", Field: part.field, Code: gantry.InvalidField, Message: part.field + " may not hold <, > or control characters"})
		case len(part.value) > 1000:
			faults = append(faults, gantry.FieldError{Resource: "Author", Field: part.field, Code: gantry.InvalidField, Message: part.field + " is too long"})
		}
	}
	return faults
}

// remap applies an edit of what mapping depends on. Before mapping that is all; from mapping on, also when that or pushing
// failed, an edit that changed something sets the import back to mapping.
func (s *Service) remap(ctx context.Context, repo *repos.View, field string, edit func(*store.Tx, *store.Import) (changed bool, err error)) (*gantry.Import, error) {
	const op = "imports.remap"
	foreign, err := s.foreignRef(ctx, repo)
	if err != nil {
		return nil, err
	}
	var row *store.Import
	err = s.DB.Write(ctx, func(tx *store.Tx) error {
		var err error
		if row, err = tx.ImportByRepository(repo.Repository.ID); err != nil {
			return err
		}
		if row.Status == gantry.StatusComplete {
			switch {
			case foreign != "":
				return invalid(op, field, gantry.InvalidField, "somebody has pushed to the repository since it was imported ("+foreign+"); its commits cannot be mapped again")
			case !row.RawKept:
				return invalid(op, field, gantry.InvalidField, "what was read from the origin is no longer kept; start the import again")
			}
		}
		changed, err := edit(tx, row)
		if err != nil || !changed {
			return err
		}
		step := row.Status
		if step == gantry.StatusError && row.RawKept {
			step = row.FailedStep
		}
		switch step {
		case gantry.StatusMapping, gantry.StatusPushing, gantry.StatusComplete:
			restart(row, gantry.StatusMapping)
			return s.release(ctx, tx, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &row.Import, nil
}
