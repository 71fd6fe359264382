-- body_acted
-- What was decided at the hand-out is kept with the item, for people who look at it later. A newer change may have replaced
-- what the item said meanwhile: that stays.
update body set action = ?3 where seq = ?1 and queue = ?2 and action is ?4 and action is not ?3
