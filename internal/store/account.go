package store

import (
	"database/sql"
	"strings"

	"gantry"
)

const accountColumns = `a.id, a.type, a.login, a.name, a.email, a.site_admin, a.suspended, a.created_at, a.updated_at`

func accountFields(a *gantry.Account) []any {
	return []any{&a.ID, &a.Type, &a.Login, &a.Name, &a.Email, &a.SiteAdmin, &a.Suspended, stamp{&a.CreatedAt}, stamp{&a.UpdatedAt}}
}

func scanAccount(rows *sql.Rows) (gantry.Account, error) {
	var a gantry.Account
	err := rows.Scan(accountFields(&a)...)
	return a, err
}

// InsertAccount adds an account and sets its ID. A login or an e-mail address that another one has is a Conflict.
func (tx *Tx) InsertAccount(a *gantry.Account) error {
	return tx.row(&a.ID, `INSERT INTO accounts (type, login, name, email, site_admin, suspended, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
		a.Type, a.Login, a.Name, a.Email, a.SiteAdmin, a.Suspended, micros(a.CreatedAt), micros(a.UpdatedAt))
}

// UpdateAccount writes every field of an account but its type and creation.
func (tx *Tx) UpdateAccount(a *gantry.Account) error {
	_, err := tx.exec(`UPDATE accounts SET login = $2, name = $3, email = $4, site_admin = $5, suspended = $6, updated_at = $7 WHERE id = $1`,
		a.ID, a.Login, a.Name, a.Email, a.SiteAdmin, a.Suspended, micros(a.UpdatedAt))
	return err
}

// Account finds an account by id.
func (tx *Tx) Account(id int64) (*gantry.Account, error) {
	return one(tx, "account", scanAccount, `SELECT `+accountColumns+` FROM accounts a WHERE a.id = $1`, id)
}

// AccountByLogin finds an account by its login, compared without case.
func (tx *Tx) AccountByLogin(login string) (*gantry.Account, error) {
	return one(tx, "account", scanAccount, `SELECT `+accountColumns+` FROM accounts a WHERE lower(a.login) = $1`, strings.ToLower(login))
}

// Users returns at most limit users, in id order, of ids above since.
func (tx *Tx) Users(since int64, limit int) ([]gantry.Account, error) {
	return all(tx, scanAccount, `SELECT `+accountColumns+` FROM accounts a WHERE a.type = 'User' AND a.id > $1 ORDER BY a.id LIMIT $2`, since, limit)
}

// UserWithPassword finds a user by login, with the hash of the password, "" when there is none.
func (tx *Tx) UserWithPassword(login string) (*gantry.Account, string, error) {
	var hash sql.NullString
	a, err := one(tx, "user", func(rows *sql.Rows) (gantry.Account, error) {
		var a gantry.Account
		err := rows.Scan(append(accountFields(&a), &hash)...)
		return a, err
	}, `SELECT `+accountColumns+`, p.hash FROM accounts a LEFT JOIN passwords p ON p.account_id = a.id
		WHERE lower(a.login) = $1 AND a.type = 'User'`, strings.ToLower(login))
	return a, hash.String, err
}

// SetPassword keeps the hash of an account's password in place of an earlier one.
func (tx *Tx) SetPassword(accountID int64, hash string) error {
	_, err := tx.exec(`INSERT INTO passwords (account_id, hash) VALUES ($1, $2)
		ON CONFLICT (account_id) DO UPDATE SET hash = excluded.hash`, accountID, hash)
	return err
}
