-- Hand-outs that came back and left nothing else behind, so that whoever repeats a return, or an ack that a newer change
-- had overtaken, is told the same again when others have had the item since.
--
-- Their fences; null of nearly all, and in rows that are written anyway.
alter table hot add column returned integer;
alter table hot add column superseded integer;
alter table done add column returned integer;
alter table done add column superseded integer;

-- What waits at this moment after it came back.
update hot set returned = fence where last = 2 and expires_at is null;
update hot set superseded = fence where last = 4 and expires_at is null;
