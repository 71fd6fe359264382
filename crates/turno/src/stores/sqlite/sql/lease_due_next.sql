-- lease_due_next
select min(look_at) from lease where look_at > ?1
