-- mark_read
-- The highest time of any decision, and the epoch of access, in the one row that every group reads.
select high, epoch from mark
