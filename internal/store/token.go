package store

import (
	"database/sql"
	"strings"
	"time"

	"gantry"
)

const tokenColumns = `t.id, t.user_id, t.note, t.last_eight, t.scopes, t.created_at, t.last_used_at, t.expires_at`

// scopeWords reads a token's scopes, stored as words with a space between them.
type scopeWords struct{ *gantry.ScopeSet }

func (s scopeWords) Scan(value any) error {
	var words sql.NullString
	if err := words.Scan(value); err != nil {
		return err
	}
	*s.ScopeSet = gantry.ScopeSet{}
	for word := range strings.FieldsSeq(words.String) {
		*s.ScopeSet = append(*s.ScopeSet, gantry.Scope(word))
	}
	return nil
}

func joinScopes(s gantry.ScopeSet) string {
	words := make([]string, len(s))
	for i, scope := range s {
		words[i] = string(scope)
	}
	return strings.Join(words, " ")
}

func tokenFields(t *gantry.Token) []any {
	return []any{&t.ID, &t.UserID, &t.Note, &t.LastEight, scopeWords{&t.Scopes}, stamp{&t.CreatedAt}, stamp{&t.LastUsedAt}, stamp{&t.ExpiresAt}}
}

// InsertToken adds a token's record under the SHA-256 of the token and sets its ID.
func (tx *Tx) InsertToken(t *gantry.Token, hash [32]byte) error {
	return tx.row(&t.ID, `INSERT INTO tokens (user_id, sha256, last_eight, note, scopes, created_at, last_used_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
		t.UserID, hash[:], t.LastEight, t.Note, joinScopes(t.Scopes), micros(t.CreatedAt), micros(t.LastUsedAt), micros(t.ExpiresAt))
}

// TokenOwner is a token with the user whom it speaks for.
type TokenOwner struct {
	Token gantry.Token
	User  gantry.Account
}

// TokenByHash finds a token by its SHA-256. Whether it has expired is for the caller to see.
func (tx *Tx) TokenByHash(hash [32]byte) (*TokenOwner, error) {
	return one(tx, "token", func(rows *sql.Rows) (TokenOwner, error) {
		var t TokenOwner
		err := rows.Scan(append(tokenFields(&t.Token), accountFields(&t.User)...)...)
		return t, err
	}, `SELECT `+tokenColumns+`, `+accountColumns+` FROM tokens t JOIN accounts a ON a.id = t.user_id WHERE t.sha256 = $1`, hash[:])
}

// Tokens returns a user's tokens in id order.
func (tx *Tx) Tokens(userID int64) ([]gantry.Token, error) {
	return all(tx, func(rows *sql.Rows) (gantry.Token, error) {
		var t gantry.Token
		err := rows.Scan(tokenFields(&t)...)
		return t, err
	}, `SELECT `+tokenColumns+` FROM tokens t WHERE t.user_id = $1 ORDER BY t.id`, userID)
}

// DeleteToken removes a user's token and returns the SHA-256 that it was found by.
func (tx *Tx) DeleteToken(userID, id int64) ([32]byte, error) {
	hash, err := one(tx, "token", func(rows *sql.Rows) ([32]byte, error) {
		var hash []byte
		if err := rows.Scan(&hash); err != nil {
			return [32]byte{}, err
		}
		return [32]byte(hash), nil
	}, `DELETE FROM tokens WHERE id = $1 AND user_id = $2 RETURNING sha256`, id, userID)
	if err != nil {
		return [32]byte{}, err
	}
	return *hash, nil
}

// TouchToken records that a token was used at a time, unless a later use is recorded.
func (tx *Tx) TouchToken(id int64, at time.Time) error {
	_, err := tx.exec(`UPDATE tokens SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, id, micros(at))
	return err
}
