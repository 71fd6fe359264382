-- checkpoint_passive
-- Moves what it can without blocking. Returns: whether it was blocked, pages in the log, pages moved.
pragma main.wal_checkpoint(passive)
