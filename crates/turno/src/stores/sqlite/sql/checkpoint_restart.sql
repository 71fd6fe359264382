-- checkpoint_restart
-- Moves everything under the write lock and waits for readers, so that the next commit restarts the log.
pragma main.wal_checkpoint(restart)
