-- Lists of items by state and by key, deliveries that know their size, and claims that can be repeated.

-- How many items the last hand-out had; null where it is one, which is nearly always. A delivery that comes back from
-- outside is compared with it.
alter table turno.hot add column size int2;
-- The request id of the claim that it was last handed out to, and the fence of that hand-out; null nearly always.
alter table turno.hot add column request text collate "C";
alter table turno.hot add column request_fence bigint;

-- What is in process at this moment gets its size now.
update turno.hot h set size = g.size
from (
    select m.queue, m.lane, m.fence, count(*) as size
    from turno.hot m
    where m.expires_at is not null and m.lane is not null
    group by m.queue, m.lane, m.fence
    having count(*) > 1
) g
where h.queue = g.queue and h.lane = g.lane and h.fence = g.fence and h.expires_at is not null;

create index hot_request on turno.hot (queue, request) where request is not null;
-- What people look for: exhausted items, those of a key, what was processed and what failed lately. Only the index of
-- keys costs those who enqueue something; the block ranges cost next to nothing, because history is written in the order
-- of time.
create index hot_parked on turno.hot (queue, seq) where parked;
create index done_unacked on turno.done (queue, ended, seq) where ended <> 0;
create index body_key on turno.body (queue, key, seq) where key is not null;
create index done_recent on turno.done using brin (at) with (pages_per_range = 32, autosummarize = on);
create index attempt_error_recent on turno.attempt_error using brin (at) with (pages_per_range = 32, autosummarize = on);

-- The advisory lock names the delivery by its first item. It keeps the engine from taking the delivery back, and a
-- second transaction with the same delivery waiting, until this transaction ends. The class number stands beside those
-- of the lanes' mutexes and of the sequencer.
create or replace function turno.complete(delivery text, fence bigint) returns void
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
    -- The items under the fence must be exactly this delivery: with another size the first item knows better, with
    -- another first item there are too few behind it.
    -- A later statement than the lock, so that it sees what the lock waited for. One statement for both tables: what
    -- was completed before is in either of them, whenever it is taken in.
    perform from turno.hot h
    where h.seq = first_seq and h.queue = of_queue and h.lane is not distinct from of_lane
        and h.fence = complete.fence and h.expires_at > turno.time_ms()
        and coalesce(h.size, 1) = of_size
        and (of_size = 1 or of_size = (
            select count(*)
            from (
                select m.seq from turno.hot m
                where m.queue = h.queue and m.lane = h.lane and m.seq >= h.seq and m.fence = h.fence
                order by m.seq limit of_size
            ) g
        ))
        and not exists (select from turno.intake i where i.seq = h.seq and i.fence = h.fence);
    if not found then
        raise exception 'delivery % is not in process under fence %', complete.delivery, complete.fence
            using errcode = 'TN010', hint = 'it is settled already, or was not settled in time: roll back';
    end if;
    insert into turno.intake (kind, at, queue, seq, lane, size, fence)
    values ('ack', turno.time_ms(), of_queue::int, first_seq, of_lane, of_size, complete.fence);
end
$$;
