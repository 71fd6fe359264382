-- For applications in the same database: functions that work inside their own transactions.
--
-- An application's transaction may stay open for minutes. It only inserts into turno.intake, which nobody else locks,
-- and the engine takes in what is committed there. No statement of the engine waits for it.
--
-- What the functions raise. Applications branch on these codes; they are never given another meaning.
--
-- | code  | raised by    | meaning |
-- |-------|--------------|---------|
-- | TN001 | enqueue      | there is no such queue |
-- | TN002 | enqueue      | a lane or sync queue needs a key |
-- | TN003 | enqueue      | the id is empty, longer than 200 characters, or has control characters |
-- | TN004 | enqueue      | the same of the key |
-- | TN005 | enqueue      | the action is longer than 200 bytes or has control characters |
-- | TN006 | enqueue      | the payload is missing or larger than 8 MiB |
-- | TN007 | enqueue      | the delay is negative or longer than 366 days |
-- | TN010 | complete     | stale: the delivery is not in process under this fence |
-- | TN011 | complete     | the text is not a delivery |
-- | TN012 | complete     | the transaction's isolation is not read committed |
-- | TN020 | assert_lease | this fence does not hold the lease now |

-- Written by the functions only, in applications' transactions, and deleted by whoever takes it in. Transactions of all
-- ages write into it beside every later version of the engine: its columns stay as they are.
--   n        the order of calls
--   xid      who wrote it: what is new since a snapshot is found by it, without reading over what is dead
--   kind     'enqueue', or 'ack' with seq, lane, size, fence
--   given    the id is the caller's and may have been accepted before
--   at       when it was called, in milliseconds; the delay counts from there
create table turno.intake (
    n bigint generated always as identity primary key,
    xid bigint not null default pg_current_xact_id()::text::bigint,
    kind text not null,
    at bigint not null,
    queue int not null,
    id text collate "C",
    given boolean not null default false,
    key text collate "C",
    action text,
    payload text,
    delay_ms bigint not null default 0,
    seq bigint,
    lane bigint,
    size bigint,
    fence bigint
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
create index intake_xid on turno.intake (xid, n);
create index intake_ack on turno.intake (seq, fence) where seq is not null;

-- What could not be taken in, with the reason, for people. It does not hold up what comes after it.
create table turno.intake_refused (
    n bigint primary key,
    kind text not null,
    at bigint not null,
    queue int not null,
    id text collate "C",
    key text collate "C",
    action text,
    payload text,
    delay_ms bigint not null,
    seq bigint,
    lane bigint,
    size bigint,
    fence bigint,
    error text not null
);

-- The time that decides, in milliseconds: never earlier than what any process has recorded. A function of its own, so
-- that it is always read by a later statement than the one that waited for a lock.
create function turno.time_ms() returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select greatest((extract(epoch from clock_timestamp()) * 1000)::bigint, (select m.high from turno.mark m))
$$;

-- Whether a text can be a name: 1 to 200 characters, none of them a control character.
create function turno.is_name(name text) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select char_length(name) between 1 and 200 and name !~ '[\u0001-\u001f\u007f-\u009f]'
$$;

create function turno.enqueue(
    queue text, payload jsonb, key text default null, id text default null, action text default null,
    delay interval default '0'
) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    found_queue int;
    found_kind text;
    body text := enqueue.payload::text;
    new_id text := coalesce(enqueue.id, gen_random_uuid()::text);
    wait_ms numeric := extract(epoch from coalesce(enqueue.delay, interval '0')) * 1000;
begin
    select q.id, q.kind into found_queue, found_kind from turno.queue q where q.name = enqueue.queue;
    if found_queue is null then
        raise exception 'there is no queue %', coalesce(enqueue.queue, 'without a name')
            using errcode = 'TN001', hint = 'create it first, in the configuration or over the API';
    end if;
    if found_kind <> 'inbox' and enqueue.key is null then
        raise exception 'queue % is of kind % and needs to know whose item it is', enqueue.queue, found_kind
            using errcode = 'TN002', hint = 'pass a key';
    end if;
    if not turno.is_name(new_id) then
        raise exception 'the id must have 1 to 200 characters, none of them a control character'
            using errcode = 'TN003';
    end if;
    if not turno.is_name(enqueue.key) then
        raise exception 'the key must have 1 to 200 characters, none of them a control character'
            using errcode = 'TN004';
    end if;
    if octet_length(enqueue.action) > 200 or enqueue.action ~ '[\u0001-\u001f\u007f-\u009f]' then
        raise exception 'the action must have at most 200 bytes and no control characters'
            using errcode = 'TN005';
    end if;
    if body is null then
        raise exception 'the payload is missing' using errcode = 'TN006', hint = 'for nothing, pass the JSON value null';
    end if;
    if octet_length(body) > 8388608 then
        raise exception 'the payload has % bytes as text, which is more than 8388608', octet_length(body)
            using errcode = 'TN006', hint = 'store it in a table of yours, and enqueue its key';
    end if;
    if wait_ms < 0 or wait_ms > 31622400000 then
        raise exception 'the delay must lie between 0 and 366 days, not %', enqueue.delay using errcode = 'TN007';
    end if;
    insert into turno.intake (kind, at, queue, id, given, key, action, payload, delay_ms)
    values ('enqueue', turno.time_ms(), found_queue, new_id, enqueue.id is not null, enqueue.key, enqueue.action, body,
            wait_ms::bigint);
    return new_id;
end
$$;

-- The advisory lock names the delivery by its first item. It keeps the engine from taking the delivery back, and a
-- second transaction with the same delivery waiting, until this transaction ends. The class number stands beside those
-- of the lanes' mutexes and of the sequencer.
create function turno.complete(delivery text, fence bigint) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    part text[] := regexp_match(
        complete.delivery, '^a([0-9a-f]{1,8})-([0-9a-f]{1,16})-([0-9a-f]{1,8})(?:-([0-9a-f]{16}))?$');
    of_queue bigint := ('x' || lpad(part[1], 16, '0'))::bit(64)::bigint;
    first_seq bigint := ('x' || lpad(part[2], 16, '0'))::bit(64)::bigint;
    of_size bigint := ('x' || lpad(part[3], 16, '0'))::bit(64)::bigint;
    of_lane bigint := ('x' || part[4])::bit(64)::bigint;
begin
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception 'turno.complete needs the isolation level read committed, not %',
            current_setting('transaction_isolation')
            using errcode = 'TN012', hint = 'an older snapshot cannot see whether the delivery was taken back meanwhile';
    end if;
    if part is null then
        raise exception 'not a delivery: %', left(complete.delivery, 100)
            using errcode = 'TN011', hint = 'pass the text on exactly as it was handed out';
    end if;
    perform pg_advisory_xact_lock(1953854064, (first_seq & 2147483647)::int);
    -- A later statement than the lock, so that it sees what the lock waited for. One statement for both tables: what
    -- was completed before is in either of them, whenever it is taken in.
    perform from turno.hot h
    where h.seq = first_seq and h.queue = of_queue and h.lane is not distinct from of_lane
        and h.fence = complete.fence and h.expires_at > turno.time_ms()
        and not exists (select from turno.intake i where i.seq = h.seq and i.fence = h.fence);
    if not found then
        raise exception 'delivery % is not in process under fence %', complete.delivery, complete.fence
            using errcode = 'TN010', hint = 'it is settled already, or was not settled in time: roll back';
    end if;
    insert into turno.intake (kind, at, queue, seq, lane, size, fence)
    values ('ack', turno.time_ms(), of_queue::int, first_seq, of_lane, of_size, complete.fence);
end
$$;

-- KEY SHARE keeps takers off, who lock FOR UPDATE, and lets the holder's heartbeats through, which do not.
create function turno.assert_lease(resource text, fence bigint) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    held_fence bigint;
    held_until bigint;
begin
    select l.fence, l.expires_at into held_fence, held_until
    from turno.lease l where l.resource = assert_lease.resource
    for key share;
    if held_fence is distinct from assert_lease.fence or held_until is null or held_until <= turno.time_ms() then
        raise exception 'lease % is not held under fence %', assert_lease.resource, assert_lease.fence
            using errcode = 'TN020', hint = 'it expired, was released or was taken over: roll back';
    end if;
end
$$;

-- Whoever may call them is said by grants, and needs nothing else. What else is in this schema is the engine's alone.
revoke all on schema turno from public;
revoke all on all tables in schema turno from public;
revoke all on all sequences in schema turno from public;
revoke all on all functions in schema turno from public;
