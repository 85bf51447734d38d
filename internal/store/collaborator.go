package store

import (
	"database/sql"

	"gantry"
)

// Collaborator is a user with a permission of their own on a repository.
type Collaborator struct {
	User       gantry.Account
	Permission gantry.Permission
}

// SetCollaborator gives a user a permission on a repository in place of an earlier one.
func (tx *Tx) SetCollaborator(repositoryID, userID int64, permission gantry.Permission) error {
	_, err := tx.exec(`INSERT INTO collaborators (repository_id, user_id, permission) VALUES ($1, $2, $3)
		ON CONFLICT (repository_id, user_id) DO UPDATE SET permission = excluded.permission`, repositoryID, userID, int64(permission))
	return err
}

// DeleteCollaborator takes a user's own permission away; without one it does nothing.
func (tx *Tx) DeleteCollaborator(repositoryID, userID int64) error {
	_, err := tx.exec(`DELETE FROM collaborators WHERE repository_id = $1 AND user_id = $2`, repositoryID, userID)
	return err
}

// Collaborators returns a page of a repository's collaborators, by login, and the number of all.
func (tx *Tx) Collaborators(repositoryID int64, page gantry.Page) ([]Collaborator, int, error) {
	const from = ` FROM collaborators c JOIN accounts a ON a.id = c.user_id WHERE c.repository_id = $1`
	total, err := tx.count(`SELECT count(*)`+from, repositoryID)
	if err != nil {
		return nil, 0, err
	}
	list, err := all(tx, func(rows *sql.Rows) (Collaborator, error) {
		var c Collaborator
		var permission int64
		err := rows.Scan(append(accountFields(&c.User), &permission)...)
		c.Permission = gantry.Permission(permission)
		return c, err
	}, `SELECT `+accountColumns+`, c.permission`+from+` ORDER BY lower(a.login) LIMIT $2 OFFSET $3`, repositoryID, page.Limit(), page.Offset())
	return list, total, err
}
