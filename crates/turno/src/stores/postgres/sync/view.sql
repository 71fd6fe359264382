create or replace view {view} with (security_barrier = true) as
with turno_queue as (
    -- The mark is a query of its own, so that the planner expects one row here and does not compile the plan.
    select q.id,
           greatest((extract(epoch from statement_timestamp()) * 1000)::bigint, (select m.high from turno.mark m)) as now
    from turno.queue q
    where q.name = {queue}
), turno_marked as (
    -- Committed, and not taken in yet: the key's newest change, whether a server runs or not.
    select i.key, (array_agg(i.id order by i.n))[1] as id, min(i.at) as first_at, max(i.at) as last_at
    from (
        select i.n, i.id, i.key, i.at
        from turno.intake i
        where i.queue = (select q.id from turno_queue q) and i.kind = 'enqueue' and i.key is not null
        union all
        -- The id that the mark will have (sql/intake_read.sql).
        select k.n, md5(concat_ws(' ', k.xid, k.n, extract(epoch from k.at)))::uuid::text, k.key,
               floor(extract(epoch from k.at) * 1000)::bigint
        from turno.sync_mark k
        where k.queue = (select q.id from turno_queue q)
    ) i
    group by i.key
), turno_event as (
    select b.id, b.key, null as action,
           case when m.key is not null then 'PENDIENTE'
                when h.parked then 'AGOTADO'
                when h.expires_at is null then
                    case when h.last = 1 or (h.last in (2, 3) and h.attempt > 0) then 'ERROR' else 'PENDIENTE' end
                when h.revision > h.handed then 'PENDIENTE'
                when h.expires_at > q.now then 'EN_PROCESO'
                else 'ERROR' end as state,
           case when m.key is null then h.attempt::int else 0 end as attempts,
           e.error, h.enqueued_at as created_at,
           -- Of what failed it is when it is tried again, and of all else when it last changed.
           greatest(h.enqueued_at, h.claimed_at, e.at, m.last_at,
                    case when h.last <> 1 then least(h.not_before, q.now) end) as updated_at
    from turno_queue q
    join turno.hot h on h.queue = q.id
    join turno.body b on b.seq = h.seq
    left join turno_marked m on m.key = b.key
    left join lateral (
        select f.error, f.at from turno.attempt_error f where f.seq = h.seq order by f.at desc, f.fence desc limit 1
    ) e on true
    union all
    select m.id, m.key, null, 'PENDIENTE', 0, null, m.first_at, m.last_at
    from turno_queue q
    join turno_marked m on not exists (
        select from turno.body b join turno.hot h on h.seq = b.seq where b.queue = q.id and b.key = m.key
    )
    union all
    select b.id, b.key, b.action, (array['PROCESADO', 'AGOTADO', 'CANCELADO'])[d.ended + 1], d.attempt::int,
           -- What went wrong on the way stays to be read, as it does everywhere else.
           (select f.error from turno.attempt_error f where f.seq = d.seq order by f.at desc, f.fence desc limit 1),
           b.enqueued_at, d.at
    from turno_queue q
    join turno.done d on d.queue = q.id
    join turno.body b on b.seq = d.seq
)
select v.id, {typed_key} as {key_name},
       case when v.action = {nothing} then 'NINGUNA'
            when v.action is not null then v.action
            when exists (
                select from {table} as r where {matches} and {speaks} and {takes_part}
            ) then {update}{or_nothing}
            else {deactivate} end as accion,
       v.state as estado, v.attempts as intentos,
       case when v.attempts > 0 or v.state = 'ERROR' then v.error end as ultimo_error,
       to_timestamp(v.created_at / 1000.0) as creado_en, to_timestamp(v.updated_at / 1000.0) as actualizado_en
from turno_event v;
