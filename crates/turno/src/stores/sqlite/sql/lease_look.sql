-- lease_look
-- Separate from `lease_save`, because SQLite rewrites an index entry whenever its column is named in an update, even if
-- the value stays. Heartbeats keep the value, and so the index stays untouched.
update lease set look_at = ?1 where resource = ?2 and look_at is not ?1
