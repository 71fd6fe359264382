-- Hand-outs that came back and left nothing else behind, so that whoever repeats a return, or an ack that a newer change
-- had overtaken, is told the same again when others have had the item since.
--
-- Their fences; null of nearly all, and in rows that are written anyway.
alter table turno.hot add column returned bigint;
alter table turno.hot add column superseded bigint;
alter table turno.done add column returned bigint;
alter table turno.done add column superseded bigint;

-- What waits at this moment after it came back.
update turno.hot set returned = fence where last = 2 and expires_at is null;
update turno.hot set superseded = fence where last = 4 and expires_at is null;
