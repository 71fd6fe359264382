-- An outage that touches one key, and when an outage ended.

-- When a key was found that is about to run out of attempts, with no success since its first failed attempt.
alter table turno.destination add column stuck_at bigint;
-- The success that ended the outage of `revive_since`.
alter table turno.destination add column revive_until bigint;
