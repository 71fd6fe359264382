-- life_events
-- Positions jump, so earlier events are deleted and listeners get a reset.
delete from event_in
