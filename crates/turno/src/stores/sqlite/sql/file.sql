-- name: checkpoint_passive
-- Moves what it can without blocking. Returns: whether it was blocked, pages in the log, pages moved.
pragma main.wal_checkpoint(passive)

-- name: checkpoint_restart
-- Moves everything under the write lock and waits for readers, so that the next commit restarts the log.
pragma main.wal_checkpoint(restart)

-- name: data_version
-- Changes only if another connection has written. That is how writes of another process are noticed.
pragma data_version
