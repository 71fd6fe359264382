-- mark_save
-- Two processes may write in any order, so the mark only rises.
update mark set high = max(high, ?1)
