-- hot_next_expiry
select min(expires_at) from hot where expires_at > ?1
