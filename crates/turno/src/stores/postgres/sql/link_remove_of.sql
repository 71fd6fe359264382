-- link_remove_of
-- For a user with a new password, and for one who is disabled or removed. There are few links, so no index is needed.
delete from turno.link where user_id = $1::text
