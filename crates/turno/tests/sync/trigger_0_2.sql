-- The SQL that `turno sync install` ran for the preset before marks had a table of their own, without some comments.
-- Source "usuarios": changes of siper.usuarios go into the queue usuarios_modulo.
begin;
set local search_path = pg_catalog, pg_temp;
set local lock_timeout = '10s';
select pg_advisory_xact_lock(1953854067, 0);

-- The conditions must be understood; nothing is read.
select (
principal
) is true, (
idper is not null and algoritmo_pass = 'PG-SHA256'
) is true, r."idper", r."nombre", r."apellido", r."activo", r."hashpass", r."principal" from "siper"."usuarios" as r limit 0;

create or replace function turno."sync_usuarios"() returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set row_security = off
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
as $turno$
#variable_conflict use_column
-- Marks keys whose state may have changed; what is sent for them is decided from the table when they are handed out.
declare
    turno_old text;
    turno_new text;
    turno_old_speaks boolean := false;
    turno_new_speaks boolean := false;
    turno_old_takes_part boolean := false;
    turno_new_takes_part boolean := false;
    turno_changed boolean := true;
    turno_keys text[] := '{}';
    turno_key text;
    turno_now bigint;
begin
    begin
        if tg_op = 'TRUNCATE' then
            turno_keys := array(
                select distinct r."idper"::text from "siper"."usuarios" as r
                where (
principal
) and ((
idper is not null and algoritmo_pass = 'PG-SHA256'
) or exists (
                    select from turno.sync_delivered d join turno.queue q on q.id = d.queue
                    where q.name = 'usuarios_modulo' and d.key = r."idper"::text and d.digest is not null
                ))
            );
        else
            if tg_op <> 'INSERT' then
                select r."idper"::text, (
principal
) is true, (
idper is not null and algoritmo_pass = 'PG-SHA256'
) is true
                into turno_old, turno_old_speaks, turno_old_takes_part
                from (select old.*) as r;
            end if;
            if tg_op <> 'DELETE' then
                select r."idper"::text, (
principal
) is true, (
idper is not null and algoritmo_pass = 'PG-SHA256'
) is true
                into turno_new, turno_new_speaks, turno_new_takes_part
                from (select new.*) as r;
            end if;
            if tg_op = 'UPDATE' then
                -- By what is stored: needs no operator of the column's type, and no null is lost.
                turno_changed := row(old."nombre", old."apellido", old."activo", old."hashpass", old."idper", old."principal")::record operator(pg_catalog.*<>) row(new."nombre", new."apellido", new."activo", new."hashpass", new."idper", new."principal")::record;
            end if;
            if turno_old_speaks and turno_old_takes_part
                and (turno_old is distinct from turno_new or not turno_new_speaks)
            then
                turno_keys := array_append(turno_keys, turno_old);
            elsif turno_old_speaks and not turno_old_takes_part
                and (turno_old is distinct from turno_new or not turno_new_speaks)
            then
                -- The row took no part, so nothing was told when it left by its condition. If the destination was last told
                -- that the key is active, or is being told something at this moment, it must hear that the row is gone.
                if exists (
                    select from turno.queue q
                    where q.name = 'usuarios_modulo' and (exists (
                        select from turno.sync_delivered d
                        where d.queue = q.id and d.key = turno_old and d.digest is not null
                    ) or exists (
                        select from turno.body b join turno.hot h on h.seq = b.seq
                        where b.queue = q.id and b.key = turno_old
                    ))
                ) then
                    turno_keys := array_append(turno_keys, turno_old);
                end if;
            end if;
            if turno_new_speaks and turno_new_takes_part
                and (turno_changed or turno_old is distinct from turno_new
                     or not (turno_old_speaks and turno_old_takes_part))
            then
                turno_keys := array_append(turno_keys, turno_new);
            end if;
        end if;
    exception when syntax_error_or_access_rule_violation or data_exception then
        -- A column was dropped, or a condition fails: that must not stop the application. Whatever may have changed is
        -- marked, since a key too many does no harm; `turno sync status` says what is wrong.
        begin
            if tg_op = 'TRUNCATE' then
                turno_keys := array(select distinct r."idper"::text from "siper"."usuarios" as r);
            else
                if tg_op <> 'INSERT' then
                    select r."idper"::text into turno_old from (select old.*) as r;
                end if;
                if tg_op <> 'DELETE' then
                    select r."idper"::text into turno_new from (select new.*) as r;
                end if;
                turno_keys := array[turno_old, nullif(turno_new, turno_old)];
            end if;
        exception when syntax_error_or_access_rule_violation or data_exception then
            insert into turno.intake_refused (n, kind, at, queue, delay_ms, error)
            select nextval('turno.intake_n_seq'), 'enqueue', turno.time_ms(), q.id, 0, 'the key cannot be read'
            from turno.queue q
            where q.name = 'usuarios_modulo' and not exists (
                select from turno.intake_refused f where f.queue = q.id and f.error = 'the key cannot be read'
            );
            return null;
        end;
    end;
    if turno_keys = '{}' then
        return null;
    end if;
    -- As assignments and conditions of their own, functions in SQL are prepared once in a transaction; within a statement
    -- they would be prepared again for every row.
    turno_now := turno.time_ms();
    foreach turno_key in array turno_keys loop
        if turno.is_name(turno_key) then
            insert into turno.intake (kind, at, queue, id, key, payload)
            values ('enqueue', turno_now, (select q.id from turno.queue q where q.name = 'usuarios_modulo'),
                    gen_random_uuid()::text, turno_key, 'null');
        elsif turno_key is not null then
            -- A key that cannot be one must not stop the application; people find it here.
            insert into turno.intake_refused (n, kind, at, queue, key, delay_ms, error)
            values (nextval('turno.intake_n_seq'), 'enqueue', turno_now,
                    (select q.id from turno.queue q where q.name = 'usuarios_modulo'), left(turno_key, 200), 0,
                    'the key must have 1 to 200 characters, none of them a control character');
        end if;
    end loop;
    return null;
end
$turno$;
alter function turno."sync_usuarios"() owner to "turno";
revoke all on function turno."sync_usuarios"() from public;
comment on function turno."sync_usuarios"() is 'Turno sync source "usuarios" 3c167c22d068';

-- The triggers.
create or replace trigger "tr_sincro_usuarios_modulo_global" after insert or update or delete on "siper"."usuarios"
    for each row execute function turno."sync_usuarios"();
create or replace trigger "tr_sincro_usuarios_modulo_global_truncate" before truncate on "siper"."usuarios"
    for each statement execute function turno."sync_usuarios"();

-- One current row per key.
create unique index if not exists "turno_usuarios_one_current" on "siper"."usuarios" ("idper") where (
principal
);
comment on index "siper"."turno_usuarios_one_current" is 'Turno sync source "usuarios" 41e44f12a764';

-- The queue for people of the database.
create or replace view "siper"."cola_sincronizacion_usuarios_modulo" with (security_barrier = true) as
with turno_queue as (
    select q.id, greatest((extract(epoch from statement_timestamp()) * 1000)::bigint, m.high) as now
    from turno.queue q cross join turno.mark m
    where q.name = 'usuarios_modulo'
), turno_marked as (
    -- Committed, and not taken in yet: the key's newest change, whether a server runs or not.
    select i.key, (array_agg(i.id order by i.n))[1] as id, min(i.at) as first_at, max(i.at) as last_at
    from turno_queue q
    join turno.intake i on i.queue = q.id
    where i.kind = 'enqueue' and i.key is not null
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
select v.id, case when v.key ~ '^-?[0-9]{1,19}$' then case when v.key::numeric between -2147483648 and 2147483647 then v.key::int4 end end as "idper",
       case when v.action = 'nothing_to_do' then 'NINGUNA'
            when v.action is not null then v.action
            when exists (
                select from "siper"."usuarios" as r where r."idper" = (case when v.key ~ '^-?[0-9]{1,19}$' then case when v.key::numeric between -2147483648 and 2147483647 then v.key::int4 end end) and r."idper"::text = v.key and (
principal
) and (
idper is not null and algoritmo_pass = 'PG-SHA256'
)
            ) then 'ACTUALIZAR'
            when exists (
                select from "siper"."usuarios" as r where r."idper" = (case when v.key ~ '^-?[0-9]{1,19}$' then case when v.key::numeric between -2147483648 and 2147483647 then v.key::int4 end end) and r."idper"::text = v.key and (
principal
) and (
idper is not null and algoritmo_pass = 'PG-SHA256'
) is not true
            ) then 'NINGUNA'
            else 'DESACTIVAR' end as accion,
       v.state as estado, v.attempts as intentos,
       case when v.attempts > 0 or v.state = 'ERROR' then v.error end as ultimo_error,
       to_timestamp(v.created_at / 1000.0) as creado_en, to_timestamp(v.updated_at / 1000.0) as actualizado_en
from turno_event v;
alter view "siper"."cola_sincronizacion_usuarios_modulo" owner to "turno";
revoke all on "siper"."cola_sincronizacion_usuarios_modulo" from public;
grant select on "siper"."cola_sincronizacion_usuarios_modulo" to "turno";
comment on view "siper"."cola_sincronizacion_usuarios_modulo" is 'Turno sync source "usuarios" 6db755885ef1';

commit;
