-- body_replace
-- A newer change of a sync key: the item keeps its id, its place and the time it was accepted; and what was accepted under
-- the id, so that a repeat can be told from a mix-up.
update body set action = ?2, payload = ?3, accepted = coalesce(accepted, payload) where seq = ?1
