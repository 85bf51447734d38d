package store

import (
	"database/sql"
	"strings"
	"time"

	"gantry"
)

// Access is a repository with what decides about one user's access to it.
type Access struct {
	Repository   gantry.Repository
	Owner        gantry.Account
	Collaborator gantry.Permission // the user's own, PermNone when there is none
	Role         gantry.OrgRole    // in the organization that owns it, "" when there is none
}

// InsertRepository adds a repository and sets its ID. A name that its owner has used is a Conflict.
func (tx *Tx) InsertRepository(r *gantry.Repository) error {
	return tx.row(&r.ID, `INSERT INTO repositories (owner_id, name, description, homepage, private, default_branch, size, pushed_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
		r.OwnerID, r.Name, r.Description, r.Homepage, r.Private, r.DefaultBranch, r.Size, micros(r.PushedAt), micros(r.CreatedAt), micros(r.UpdatedAt))
}

// UpdateRepository writes what people can change of a repository.
func (tx *Tx) UpdateRepository(r *gantry.Repository) error {
	_, err := tx.exec(`UPDATE repositories SET name = $2, description = $3, homepage = $4, private = $5, default_branch = $6, updated_at = $7 WHERE id = $1`,
		r.ID, r.Name, r.Description, r.Homepage, r.Private, r.DefaultBranch, micros(r.UpdatedAt))
	return err
}

// RecordPush notes that a repository's refs have moved: when, its size in kilobytes by then, and its default branch.
func (tx *Tx) RecordPush(id int64, at time.Time, size int64, defaultBranch string) error {
	_, err := tx.exec(`UPDATE repositories SET pushed_at = $2, size = $3, default_branch = $4, updated_at = $2 WHERE id = $1`, id, micros(at), size, defaultBranch)
	return err
}

// DeleteRepository removes a repository's record, and with it all that belongs to it. Its ID is never given again.
func (tx *Tx) DeleteRepository(id int64) error {
	_, err := tx.exec(`DELETE FROM repositories WHERE id = $1`, id)
	return err
}

// accessTables joins a repository with its owner and with what the user $1 has to do with it; 0 is nobody.
const accessTables = ` FROM repositories r
	JOIN accounts a ON a.id = r.owner_id
	LEFT JOIN collaborators c ON c.repository_id = r.id AND c.user_id = $1
	LEFT JOIN memberships m ON m.org_id = r.owner_id AND m.user_id = $1`

const selectAccess = `SELECT r.id, r.owner_id, r.name, r.description, r.homepage, r.private, r.default_branch, r.size, r.pushed_at, r.created_at, r.updated_at, ` +
	accountColumns + `, c.permission, m.role` + accessTables

func scanAccess(rows *sql.Rows) (Access, error) {
	var x Access
	var permission sql.Null[int64]
	var role sql.NullString
	r := &x.Repository
	fields := []any{
		&r.ID, &r.OwnerID, &r.Name, &r.Description, &r.Homepage, &r.Private, &r.DefaultBranch, &r.Size,
		stamp{&r.PushedAt},
		stamp{&r.CreatedAt},
		stamp{&r.UpdatedAt},
	}
	fields = append(fields, accountFields(&x.Owner)...)
	err := rows.Scan(append(fields, &permission, &role)...)
	x.Collaborator, x.Role = gantry.Permission(permission.V), gantry.OrgRole(role.String)
	return x, err
}

// RepositoryByName finds a repository by its owner's login and its name, compared without case.
func (tx *Tx) RepositoryByName(userID int64, owner, name string) (*Access, error) {
	return one(tx, "repository", scanAccess, selectAccess+` WHERE lower(a.login) = $2 AND lower(r.name) = $3 AND r.owner_id = a.id`,
		userID, strings.ToLower(owner), strings.ToLower(name))
}

// Repository finds a repository by its id.
func (tx *Tx) Repository(userID, id int64) (*Access, error) {
	return one(tx, "repository", scanAccess, selectAccess+` WHERE r.id = $2`, userID, id)
}

// UserRepositories returns a page of the repositories that a user owns, collaborates on or sees as a member, by full name,
// and the number of all; with publicOnly of the public ones among them.
func (tx *Tx) UserRepositories(userID int64, publicOnly bool, page gantry.Page) ([]Access, int, error) {
	const where = ` WHERE NOT ($2 AND r.private) AND r.id IN (
		SELECT id FROM repositories WHERE owner_id = $1
		UNION SELECT repository_id FROM collaborators WHERE user_id = $1
		UNION SELECT o.id FROM memberships n JOIN repositories o ON o.owner_id = n.org_id WHERE n.user_id = $1)`
	return tx.repositoryPage(where, ` ORDER BY lower(a.login), lower(r.name) LIMIT $3 OFFSET $4`, page, userID, publicOnly)
}

// OwnerRepositories returns a page of the repositories of an account that a user can see, by name, and the number of all
// those; with publicOnly of the public ones, with everything also of private ones that are not the user's.
func (tx *Tx) OwnerRepositories(userID, ownerID int64, publicOnly, everything bool, page gantry.Page) ([]Access, int, error) {
	const where = ` WHERE r.owner_id = $2 AND NOT ($3 AND r.private)
		AND ($4 OR NOT r.private OR r.owner_id = $1 OR c.user_id IS NOT NULL OR m.user_id IS NOT NULL)`
	return tx.repositoryPage(where, ` ORDER BY lower(r.name) LIMIT $5 OFFSET $6`, page, userID, ownerID, publicOnly, everything)
}

func (tx *Tx) repositoryPage(where, order string, page gantry.Page, args ...any) ([]Access, int, error) {
	total, err := tx.count(`SELECT count(*)`+accessTables+where, args...)
	if err != nil {
		return nil, 0, err
	}
	list, err := all(tx, scanAccess, selectAccess+where+order, append(args, page.Limit(), page.Offset())...)
	return list, total, err
}
