-- When an attempt that is over was handed out: the life of an item, and how long items wait.
--
-- Null of what ended before; eight bytes with a row that is written anyway.
alter table turno.done add column handed_at bigint;
alter table turno.attempt_error add column handed_at bigint;
