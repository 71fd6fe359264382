-- life_events
-- Positions jump: what lies below is gone, so that listeners are told to begin anew.
delete from event_in
