-- +goose Up
CREATE TABLE accounts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    type       TEXT    NOT NULL CHECK (type IN ('User', 'Organization')),
    login      TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    email      TEXT    NOT NULL,
    site_admin BOOLEAN NOT NULL,
    suspended  BOOLEAN NOT NULL,
    created_at BIGINT  NOT NULL,
    updated_at BIGINT  NOT NULL
);
CREATE UNIQUE INDEX accounts_login ON accounts (lower(login));
CREATE UNIQUE INDEX accounts_email ON accounts (lower(email)) WHERE email <> '';

CREATE TABLE passwords (
    account_id BIGINT NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    hash       TEXT   NOT NULL -- argon2id, PHC string format
);

CREATE TABLE memberships (
    org_id  BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role    TEXT   NOT NULL CHECK (role IN ('member', 'admin')),
    PRIMARY KEY (org_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

CREATE TABLE repositories (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id       BIGINT  NOT NULL REFERENCES accounts (id),
    name           TEXT    NOT NULL,
    description    TEXT    NOT NULL,
    homepage       TEXT    NOT NULL,
    private        BOOLEAN NOT NULL,
    default_branch TEXT    NOT NULL,
    size           BIGINT  NOT NULL, -- kilobytes
    pushed_at      BIGINT,
    created_at     BIGINT  NOT NULL,
    updated_at     BIGINT  NOT NULL
);
CREATE UNIQUE INDEX repositories_name ON repositories (owner_id, lower(name));

CREATE TABLE collaborators (
    repository_id BIGINT NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    user_id       BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    permission    BIGINT NOT NULL, -- gantry.Permission
    PRIMARY KEY (repository_id, user_id)
);
CREATE INDEX collaborators_user ON collaborators (user_id);

CREATE TABLE tokens (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    sha256       BLOB   NOT NULL,
    last_eight   TEXT   NOT NULL,
    note         TEXT   NOT NULL,
    scopes       TEXT   NOT NULL, -- separated by spaces
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    expires_at   BIGINT
);
CREATE UNIQUE INDEX tokens_sha256 ON tokens (sha256);
CREATE INDEX tokens_user ON tokens (user_id);
