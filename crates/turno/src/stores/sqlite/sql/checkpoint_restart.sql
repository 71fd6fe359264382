-- checkpoint_restart
-- Moves everything under the write lock and waits for readers, so that the next commit starts the log anew.
pragma main.wal_checkpoint(restart)
