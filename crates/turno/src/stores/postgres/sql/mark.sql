-- name: epoch_raise
-- Runs under the lock of the audit's head, so that two changes never raise the epoch to the same number. Runs near the
-- end of the transaction, because every commit may write the mark in this row.
update turno.mark set epoch = epoch + 1

-- name: epoch_read
select epoch from turno.mark

-- name: mark_save
-- Processes may commit in any order, so the mark only rises.
update turno.mark set high = $1::bigint where high < $1::bigint
