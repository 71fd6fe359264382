-- expiry_next
-- Only as far as anybody waits without looking again: beyond lie the entries of what was settled long since.
select expires_at from turno.hot
where expires_at > $1::bigint and expires_at <= $2::bigint
order by expires_at
limit 1
