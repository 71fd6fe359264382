-- mark_read
select high from mark
