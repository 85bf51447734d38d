package store

import (
	"database/sql"

	"gantry"
)

// SetMembership makes a user a member of an organization, or changes the role.
func (tx *Tx) SetMembership(m gantry.Membership) error {
	_, err := tx.exec(`INSERT INTO memberships (org_id, user_id, role) VALUES ($1, $2, $3)
		ON CONFLICT (org_id, user_id) DO UPDATE SET role = excluded.role`, m.OrgID, m.UserID, m.Role)
	return err
}

// Membership finds a user's part in an organization.
func (tx *Tx) Membership(orgID, userID int64) (*gantry.Membership, error) {
	return one(tx, "membership", func(rows *sql.Rows) (gantry.Membership, error) {
		m := gantry.Membership{OrgID: orgID, UserID: userID}
		err := rows.Scan(&m.Role)
		return m, err
	}, `SELECT role FROM memberships WHERE org_id = $1 AND user_id = $2`, orgID, userID)
}

// Organizations returns a page of those that a user belongs to, by login, and the number of all.
func (tx *Tx) Organizations(userID int64, page gantry.Page) ([]gantry.Account, int, error) {
	const from = ` FROM memberships m JOIN accounts a ON a.id = m.org_id WHERE m.user_id = $1`
	return tx.accountPage(from, userID, page)
}

// Members returns a page of an organization's users, by login, and the number of all.
func (tx *Tx) Members(orgID int64, page gantry.Page) ([]gantry.Account, int, error) {
	const from = ` FROM memberships m JOIN accounts a ON a.id = m.user_id WHERE m.org_id = $1`
	return tx.accountPage(from, orgID, page)
}

func (tx *Tx) accountPage(from string, id int64, page gantry.Page) ([]gantry.Account, int, error) {
	total, err := tx.count(`SELECT count(*)`+from, id)
	if err != nil {
		return nil, 0, err
	}
	list, err := all(tx, scanAccount, `SELECT `+accountColumns+from+` ORDER BY lower(a.login) LIMIT $2 OFFSET $3`, id, page.Limit(), page.Offset())
	return list, total, err
}
