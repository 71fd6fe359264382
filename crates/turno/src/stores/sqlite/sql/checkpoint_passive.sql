-- checkpoint_passive
-- Moves what it can without holding anybody up. Answers: was it held up, pages in the log, pages moved.
pragma main.wal_checkpoint(passive)
