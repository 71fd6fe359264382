-- lease_look
-- Apart from `lease_save`: SQLite rewrites the entry of an index whenever its column is named in an update, also if the
-- value stays. Heartbeats leave the value, and so the index.
update lease set look_at = ?1 where resource = ?2 and look_at is not ?1
