-- +goose Up
ALTER TABLE imports ADD COLUMN svn_options TEXT NOT NULL DEFAULT '{}'; -- JSON: gantry.Shape
ALTER TABLE imports ADD COLUMN uploaded BOOLEAN NOT NULL DEFAULT FALSE; -- the origin is a file in the staging directory

-- +goose Down
ALTER TABLE imports DROP COLUMN uploaded;
ALTER TABLE imports DROP COLUMN svn_options;
