-- epoch_raise
-- Runs under the lock of the audit's head, so that two changes never raise the epoch to the same number. Runs near the
-- end of the transaction, because every commit may write the mark in this row.
update turno.mark set epoch = epoch + 1
