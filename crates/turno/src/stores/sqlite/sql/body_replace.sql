-- body_replace
-- A newer change of a sync key: the item keeps its id, its place and the time it was accepted.
update body set action = ?2, payload = ?3, replaced = 1 where seq = ?1
