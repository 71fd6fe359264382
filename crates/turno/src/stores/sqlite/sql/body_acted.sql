-- body_acted
-- Stores the action that was decided at the hand-out, for display. A newer change may have replaced the item's action
-- meanwhile. The newer action stays.
update body set action = ?3 where seq = ?1 and queue = ?2 and action is ?4 and action is not ?3
