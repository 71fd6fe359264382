-- name: hot_next_expiry
-- Searches only as far as the sweep sleeps at most. Beyond that lie dead entries of settled deliveries.
select expires_at from turno.hot
where expires_at > $1::bigint and expires_at <= $2::bigint
order by expires_at
limit 1
