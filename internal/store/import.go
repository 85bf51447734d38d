package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"gantry"
)

// Import is the record of an import with what only the service that works on it needs.
type Import struct {
	gantry.Import

	Username string
	Password []byte // sealed; nil when there is none
	RawState string // JSON: the last checkpoint of the raw step
	RawKept  bool   // what was read is still there
	Report   string // JSON

	LeaseOwner string    // the process at work, "" for none
	LeaseUntil time.Time // when others may take it
}

const importColumns = `id, repository_id, generation, vcs, vcs_url, tfvc_project, svn_root, use_lfs, username, password,
	status, status_text, failed_step, message, project_choices, percent, commit_count, push_percent, authors_count,
	raw_done, raw_state, raw_kept, large_files_count, large_files_size, report, lease_owner, lease_until,
	created_at, updated_at, completed_at, svn_options, uploaded`

func scanImport(rows *sql.Rows) (Import, error) {
	var m Import
	var percent, commits, pushed sql.Null[int64]
	var choices, shape string
	err := rows.Scan(&m.ID, &m.RepositoryID, &m.Generation, &m.VCS, &m.VCSURL, &m.TFVCProject, &m.SVNRoot, &m.UseLFS, &m.Username, &m.Password,
		&m.Status, &m.StatusText, &m.FailedStep, &m.Message, &choices, &percent, &commits, &pushed, &m.AuthorsCount,
		&m.RawDone, &m.RawState, &m.RawKept, &m.LargeFilesCount, &m.LargeFilesSize, &m.Report, &m.LeaseOwner, stamp{&m.LeaseUntil},
		stamp{&m.CreatedAt}, stamp{&m.UpdatedAt}, stamp{&m.CompletedAt}, &shape, &m.Uploaded)
	if err != nil {
		return m, err
	}
	if percent.Valid {
		m.Percent = new(int(percent.V))
	}
	if commits.Valid {
		m.CommitCount = &commits.V
	}
	if pushed.Valid {
		m.PushPercent = new(int(pushed.V))
	}
	if err := json.Unmarshal([]byte(choices), &m.ProjectChoices); err != nil {
		return m, fmt.Errorf("store: project choices of import %d: %w", m.ID, err)
	}
	if err := json.Unmarshal([]byte(shape), &m.Shape); err != nil {
		return m, fmt.Errorf("store: options of import %d: %w", m.ID, err)
	}
	return m, nil
}

// InsertImport adds an import and sets its ID, which is never given again.
func (tx *Tx) InsertImport(m *Import) error {
	shape, err := json.Marshal(m.Shape)
	if err != nil {
		return err
	}
	return tx.row(&m.ID, `INSERT INTO imports (repository_id, generation, vcs, vcs_url, tfvc_project, svn_root, use_lfs, username, password,
			status, status_text, failed_step, message, project_choices, authors_count, raw_done, raw_state, raw_kept,
			large_files_count, large_files_size, report, lease_owner, created_at, updated_at, svn_options, uploaded)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '', '', '[]', 0, FALSE, '', $12, 0, 0, '', '', $13, $14, $15, $16) RETURNING id`,
		m.RepositoryID, m.Generation, m.VCS, m.VCSURL, m.TFVCProject, m.SVNRoot, m.UseLFS, m.Username, m.Password,
		m.Status, m.StatusText, m.RawKept, micros(m.CreatedAt), micros(m.UpdatedAt), string(shape), m.Uploaded)
}

// SaveImport writes an import if its row still has a generation; else it is a Conflict. What its owner chooses is not
// written, as that may change whoever owns the row: SetImportLFS and SetImportShape do that.
func (tx *Tx) SaveImport(m *Import, generation int64) error {
	choices := []byte("[]")
	if len(m.ProjectChoices) > 0 {
		var err error
		if choices, err = json.Marshal(m.ProjectChoices); err != nil {
			return err
		}
	}
	n, err := tx.exec(`UPDATE imports SET generation = $3, vcs = $4, vcs_url = $5, tfvc_project = $6, username = $7, password = $8,
			status = $9, status_text = $10, failed_step = $11, message = $12, project_choices = $13, percent = $14, commit_count = $15,
			push_percent = $16, authors_count = $17, raw_done = $18, raw_state = $19, raw_kept = $20, large_files_count = $21,
			large_files_size = $22, report = $23, lease_owner = $24, lease_until = $25, updated_at = $26, completed_at = $27
		WHERE id = $1 AND generation = $2`,
		m.ID, generation, m.Generation, m.VCS, m.VCSURL, m.TFVCProject, m.Username, m.Password,
		m.Status, m.StatusText, m.FailedStep, m.Message, string(choices), m.Percent, m.CommitCount,
		m.PushPercent, m.AuthorsCount, m.RawDone, m.RawState, m.RawKept, m.LargeFilesCount,
		m.LargeFilesSize, m.Report, m.LeaseOwner, micros(m.LeaseUntil), micros(m.UpdatedAt), micros(m.CompletedAt))
	return generationHeld(n, err)
}

// generationHeld turns a write that met no row into a Conflict.
func generationHeld(rows int64, err error) error {
	if err == nil && rows == 0 {
		return gantry.Errorf(gantry.Conflict, "store", "the import was changed in the meantime")
	}
	return err
}

// RenewImportLease moves the end of a lease if the row still has a generation; else it is a Conflict.
func (tx *Tx) RenewImportLease(id, generation int64, until time.Time) error {
	return generationHeld(tx.exec(`UPDATE imports SET lease_until = $3 WHERE id = $1 AND generation = $2`, id, generation, micros(until)))
}

// CheckImport is nil if an import's row still has a generation; else it is a Conflict.
func (tx *Tx) CheckImport(id, generation int64) error {
	n, err := tx.count(`SELECT count(*) FROM imports WHERE id = $1 AND generation = $2`, id, generation)
	return generationHeld(int64(n), err)
}

// Import finds an import by its id.
func (tx *Tx) Import(id int64) (*Import, error) {
	return one(tx, "import", scanImport, `SELECT `+importColumns+` FROM imports WHERE id = $1`, id)
}

// ImportByRepository finds the import of a repository.
func (tx *Tx) ImportByRepository(repositoryID int64) (*Import, error) {
	return one(tx, "import", scanImport, `SELECT `+importColumns+` FROM imports WHERE repository_id = $1`, repositoryID)
}

const liveImport = `status IN ('detecting', 'importing', 'mapping', 'pushing')`

// LiveImports returns the imports that a worker has to move on, oldest change first.
func (tx *Tx) LiveImports() ([]Import, error) {
	return all(tx, scanImport, `SELECT `+importColumns+` FROM imports WHERE `+liveImport+` ORDER BY updated_at, id`)
}

// EndedImports returns imports that still keep raw data or credentials although they have not changed since a time.
func (tx *Tx) EndedImports(before time.Time) ([]Import, error) {
	return all(tx, scanImport, `SELECT `+importColumns+` FROM imports WHERE NOT `+liveImport+` AND updated_at < $1 AND (raw_kept OR password IS NOT NULL)`, micros(before))
}

// ImportsAhead counts the imports that wait for a worker longer than one that waits, too.
func (tx *Tx) ImportsAhead(m *Import) (int, error) {
	return tx.count(`SELECT count(*) FROM imports WHERE `+liveImport+` AND lease_owner = '' AND (updated_at < $1 OR updated_at = $1 AND id < $2)`, micros(m.UpdatedAt), m.ID)
}

// SetImportLFS records what is to happen to large files.
func (tx *Tx) SetImportLFS(id int64, choice gantry.LFSChoice) error {
	_, err := tx.exec(`UPDATE imports SET use_lfs = $2 WHERE id = $1`, id, choice)
	return err
}

// SetImportShape records which project of a Subversion repository is imported, and how it becomes Git.
func (tx *Tx) SetImportShape(id int64, root string, shape gantry.Shape) error {
	text, err := json.Marshal(shape)
	if err == nil {
		_, err = tx.exec(`UPDATE imports SET svn_root = $2, svn_options = $3 WHERE id = $1`, id, root, string(text))
	}
	return err
}

// DeleteImport removes an import with its authors and large files.
func (tx *Tx) DeleteImport(id int64) error {
	_, err := tx.exec(`DELETE FROM imports WHERE id = $1`, id)
	return err
}

func scanAuthor(rows *sql.Rows) (gantry.Author, error) {
	var a gantry.Author
	err := rows.Scan(&a.ID, &a.ImportID, &a.RemoteID, &a.RemoteName, &a.Email, &a.Name)
	return a, err
}

const authorColumns = `id, import_id, remote_id, remote_name, email, name`

// AddImportAuthor adds an author at an ordinal of the import's author table. It does nothing when the ordinal is taken.
func (tx *Tx) AddImportAuthor(a *gantry.Author, ordinal int) error {
	_, err := tx.exec(`INSERT INTO import_authors (import_id, ordinal, remote_id, remote_name, email, name) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (import_id, ordinal) DO NOTHING`, a.ImportID, ordinal, a.RemoteID, a.RemoteName, a.Email, a.Name)
	return err
}

// ImportAuthors returns the authors of an import with an id greater than since, in id order.
func (tx *Tx) ImportAuthors(importID, since int64) ([]gantry.Author, error) {
	return all(tx, scanAuthor, `SELECT `+authorColumns+` FROM import_authors WHERE import_id = $1 AND id > $2 ORDER BY id`, importID, since)
}

// ImportAuthor finds one author of an import.
func (tx *Tx) ImportAuthor(importID, id int64) (*gantry.Author, error) {
	return one(tx, "author", scanAuthor, `SELECT `+authorColumns+` FROM import_authors WHERE import_id = $1 AND id = $2`, importID, id)
}

// SetImportAuthor writes the Git identity of an author.
func (tx *Tx) SetImportAuthor(a *gantry.Author) error {
	_, err := tx.exec(`UPDATE import_authors SET email = $2, name = $3 WHERE id = $1`, a.ID, a.Email, a.Name)
	return err
}

// SetImportLargeFiles replaces the list of large files of an import.
func (tx *Tx) SetImportLargeFiles(importID int64, files []gantry.LargeFile) error {
	if _, err := tx.exec(`DELETE FROM import_large_files WHERE import_id = $1`, importID); err != nil {
		return err
	}
	for _, f := range files {
		_, err := tx.exec(`INSERT INTO import_large_files (import_id, ref_name, path, oid, size) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (import_id, path, oid) DO NOTHING`, importID, f.RefName, f.Path, f.OID, f.Size)
		if err != nil {
			return err
		}
	}
	return nil
}

// ImportLargeFiles returns the large files of an import by path.
func (tx *Tx) ImportLargeFiles(importID int64) ([]gantry.LargeFile, error) {
	return all(tx, func(rows *sql.Rows) (gantry.LargeFile, error) {
		var f gantry.LargeFile
		err := rows.Scan(&f.RefName, &f.Path, &f.OID, &f.Size)
		return f, err
	}, `SELECT ref_name, path, oid, size FROM import_large_files WHERE import_id = $1 ORDER BY path, oid`, importID)
}

// SetImportedRefs records where imports last put the refs of a repository: object ids by ref name.
func (tx *Tx) SetImportedRefs(repositoryID int64, refs map[string]string) error {
	if _, err := tx.exec(`DELETE FROM imported_refs WHERE repository_id = $1`, repositoryID); err != nil {
		return err
	}
	for name, oid := range refs {
		if _, err := tx.exec(`INSERT INTO imported_refs (repository_id, name, oid) VALUES ($1, $2, $3)`, repositoryID, name, oid); err != nil {
			return err
		}
	}
	return nil
}

// ImportedRefs returns where imports last put the refs of a repository.
func (tx *Tx) ImportedRefs(repositoryID int64) (map[string]string, error) {
	refs := map[string]string{}
	_, err := all(tx, func(rows *sql.Rows) (struct{}, error) {
		var name, oid string
		if err := rows.Scan(&name, &oid); err != nil {
			return struct{}{}, err
		}
		refs[name] = oid
		return struct{}{}, nil
	}, `SELECT name, oid FROM imported_refs WHERE repository_id = $1`, repositoryID)
	return refs, err
}
