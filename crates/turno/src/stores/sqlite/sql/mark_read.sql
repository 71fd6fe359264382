-- mark_read
-- The highest time that decided anything, and the epoch of access, in the one row that every group reads.
select high, epoch from mark
