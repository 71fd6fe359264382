-- name: epoch_raise
-- Access was taken away, so rights that were read under the old epoch must be read again.
update mark set epoch = epoch + 1

-- name: mark_read
-- The highest time of any decision, and the epoch of access, in the one row that every group reads.
select high, epoch from mark

-- name: mark_save
-- Two processes may write in any order, so the mark only rises.
update mark set high = max(high, ?1)

-- name: number_take
-- Returns the last of ?1 fresh numbers. A row suffices as a sequence, because the write lock is held anyway.
update number set value = value + ?1
returning value
