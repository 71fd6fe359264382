-- mark_save
-- Never lower: two processes may write it in any order.
update mark set high = max(high, ?1)
