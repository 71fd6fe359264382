-- body_payload
-- What was accepted under this id before, so that a repetition can be told from a mix-up.
select payload from body where queue = ?1 and id = ?2
