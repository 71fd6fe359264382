-- Whether the claim of a failed attempt expired. Null in rows of programs up to 0.1.0: those are told apart by their text.
alter table turno.attempt_error add column expired boolean;

-- A look searches for (transaction, queue), and lists the rows of one queue: a large transaction in one queue costs the
-- look and the other queues nothing.
create index intake_look on turno.intake (xid, queue, n);
drop index turno.intake_xid;
