-- name: arrive
-- Adds inbox items whose ids the engine generated. They were decided for the time 0, and this statement adds the
-- current time. It may read the clock itself, because it waits for no lock ($9 replaces the clock in tests). The time
-- is at least the highest that this process ($10) or any other has seen. Adds nothing if the epoch of access ($11) or
-- the life of the database ($12) differs, or if one of the queues ($13) does not exist.
with life as materialized (
    select s.started || '/' || s.timeline || '/' || l.tableoid || '/' || l.number as words,
           (select count(*) from turno.queue q where q.id = any ($13::int[])) as queues
    from turno.life l cross join turno.server_life() s
), moment as materialized (
    select greatest(coalesce($9::bigint, (extract(epoch from clock_timestamp()) * 1000)::bigint), $10::bigint, m.high)
        as now
    from turno.mark m cross join life l
    where ($11::bigint is null or m.epoch = $11) and l.words = $12::text and l.queues = cardinality($13::int[])
), arrived as materialized (
    select nextval('turno.number') as seq, m.now, u.queue, u.id, u.key, u.action, u.payload,
           u.enqueued_at, u.not_before, u.ready_at
    from moment m
    cross join unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
                      $8::bigint[]) as u (queue, id, key, action, payload, enqueued_at, not_before, ready_at)
), bodies as (
    insert into turno.body (seq, queue, id, key, action, payload, enqueued_at)
    select a.seq, a.queue, a.id, a.key, a.action, a.payload, a.now + a.enqueued_at
    from arrived a
), items as (
    insert into turno.hot (seq, queue, enqueued_at, not_before, ready_at, revision)
    select a.seq, a.queue, a.now + a.enqueued_at, a.now + a.not_before, a.now + a.ready_at, a.seq
    from arrived a
)
select min(a.now), min(a.seq), (select l.words from life l), (select l.queues from life l) from arrived a
