-- A folder that a tenant has removed is no longer shown, and its rows go when the worker that watched it has stopped.
-- Its name is free at once: the row is renamed, so that workers of the release before see a paused folder.
alter table watchfolder.folder add column removed_at timestamptz;
