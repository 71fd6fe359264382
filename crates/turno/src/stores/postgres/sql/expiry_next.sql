-- expiry_next
select expires_at from turno.hot where expires_at > $1::bigint order by expires_at limit 1
