-- body_acted
-- What was decided at the hand-out is kept with the item, for people who look at it later.
update body set action = ?3 where seq = ?1 and queue = ?2 and action is not ?3
