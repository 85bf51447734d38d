-- +goose Up
CREATE TABLE imports (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    repository_id     BIGINT NOT NULL UNIQUE REFERENCES repositories (id) ON DELETE CASCADE,
    generation        BIGINT NOT NULL,
    vcs               TEXT NOT NULL,
    vcs_url           TEXT NOT NULL,
    tfvc_project      TEXT NOT NULL,
    svn_root          TEXT NOT NULL,
    use_lfs           TEXT NOT NULL,
    username          TEXT NOT NULL,
    password          BLOB, -- sealed
    status            TEXT NOT NULL,
    status_text       TEXT NOT NULL,
    failed_step       TEXT NOT NULL,
    message           TEXT NOT NULL,
    project_choices   TEXT NOT NULL, -- JSON
    percent           BIGINT,
    commit_count      BIGINT,
    push_percent      BIGINT,
    authors_count     BIGINT NOT NULL,
    raw_done          BOOLEAN NOT NULL,
    raw_state         TEXT NOT NULL, -- JSON: the last checkpoint of the raw step
    raw_kept          BOOLEAN NOT NULL,
    large_files_count BIGINT NOT NULL,
    large_files_size  BIGINT NOT NULL,
    report            TEXT NOT NULL, -- JSON
    lease_owner       TEXT NOT NULL,
    lease_until       BIGINT,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    completed_at      BIGINT
);

CREATE TABLE import_authors (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    import_id   BIGINT NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    ordinal     BIGINT NOT NULL,
    remote_id   TEXT NOT NULL,
    remote_name TEXT NOT NULL,
    email       TEXT NOT NULL,
    name        TEXT NOT NULL,
    UNIQUE (import_id, ordinal)
);

CREATE TABLE import_large_files (
    import_id BIGINT NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    ref_name  TEXT NOT NULL,
    path      TEXT NOT NULL,
    oid       TEXT NOT NULL,
    size      BIGINT NOT NULL,
    PRIMARY KEY (import_id, path, oid)
);

-- Where an import last put the refs of a repository. It outlives the import, so that a later one knows its own.
CREATE TABLE imported_refs (
    repository_id BIGINT NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    oid           TEXT NOT NULL,
    PRIMARY KEY (repository_id, name)
);

-- +goose Down
DROP TABLE imported_refs;
DROP TABLE import_large_files;
DROP TABLE import_authors;
DROP TABLE imports;
