-- body_replace
-- A newer change of a sync key: the item keeps its id, its seq and the time it was accepted. Also keeps what was
-- accepted first under the id, so that a repeat can be told from a different item with the same id.
update body set action = ?2, payload = ?3, accepted = coalesce(accepted, payload) where seq = ?1
