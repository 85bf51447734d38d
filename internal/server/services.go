package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"gantry"
	"gantry/internal/accounts"
	"gantry/internal/auth"
	"gantry/internal/config"
	"gantry/internal/store"
)

// Services are those that need nothing but the database: enough for the commands that work beside a server.
type Services struct {
	DB       *store.DB
	Accounts *accounts.Service
	Auth     *auth.Service
}

// OpenServices opens the database of a configuration, and makes the data directory when it is missing. Close it.
func OpenServices(ctx context.Context, cfg *config.Config, log *slog.Logger) (*Services, error) {
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", err)
	}
	db, err := store.Open(ctx, cfg.Database, log)
	if err != nil {
		return nil, err
	}
	return &Services{
		DB:       db,
		Accounts: accounts.New(db, time.Now),
		Auth:     auth.New(db, time.Now, auth.Limits{}),
	}, nil
}

// Close writes what is pending and releases the database.
func (s *Services) Close() error { return errors.Join(s.Auth.Close(), s.DB.Close()) }

// Administrator is the first account of a new site. Its token cannot be shown again.
type Administrator struct {
	Login string
	Token string
}

// firstLogin is the login of the first administrator.
const firstLogin = "admin"

// firstStart makes a site administrator with a token of all scopes when the site has no users, and returns nil when it has.
func (s *Services) firstStart(ctx context.Context) (*Administrator, error) {
	users, err := s.Accounts.ListUsers(ctx, 0, 1)
	if err != nil || len(users) > 0 {
		return nil, err
	}
	user, err := s.Accounts.CreateUser(ctx, accounts.NewUser{Login: firstLogin, Name: "Site administrator", Email: firstLogin + "@localhost.localdomain", SiteAdmin: true})
	if kind := gantry.KindOf(err); err != nil && (kind == gantry.Conflict || kind == gantry.Invalid) {
		return nil, s.somebodyElseWasFirst(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	token, _, err := s.Auth.CreateToken(ctx, user.ID, gantry.AllScopes(), "first start", time.Time{})
	if err != nil {
		return nil, err
	}
	return &Administrator{Login: user.Login, Token: token}, nil
}

// somebodyElseWasFirst returns nil when another server that shares the database has made the administrator meanwhile.
func (s *Services) somebodyElseWasFirst(ctx context.Context, cause error) error {
	if _, err := s.Accounts.ByLogin(ctx, firstLogin); err != nil {
		return cause
	}
	return nil
}
