
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
                select distinct r.{key}::text from {table} as r
                where {speaks} and ({takes_part} or exists (
                    select from turno.sync_delivered d join turno.queue q on q.id = d.queue
                    where q.name = {queue} and d.key = r.{key}::text and d.digest is not null
                ))
            );
        else
            if tg_op <> 'INSERT' then
                select r.{key}::text, {speaks} is true, {takes_part} is true
                into turno_old, turno_old_speaks, turno_old_takes_part
                from (select old.*) as r;
            end if;
            if tg_op <> 'DELETE' then
                select r.{key}::text, {speaks} is true, {takes_part} is true
                into turno_new, turno_new_speaks, turno_new_takes_part
                from (select new.*) as r;
            end if;
            if tg_op = 'UPDATE' then
                -- By what is stored: needs no operator of the column's type, and no null is lost.
                turno_changed := row({old_watched})::record operator(pg_catalog.*<>) row({new_watched})::record;
            end if;
            if turno_old_speaks and turno_old_takes_part
                and (turno_old is distinct from turno_new or not turno_new_speaks{or_left})
            then
                turno_keys := array_append(turno_keys, turno_old);
            elsif turno_old_speaks and not turno_old_takes_part
                and (turno_old is distinct from turno_new or not turno_new_speaks)
            then
                -- The row took no part, so nothing was told when it left by its condition. If the destination was last told
                -- that the key is active, or is being told something at this moment, it must hear that the row is gone.
                if exists (
                    select from turno.queue q
                    where q.name = {queue} and (exists (
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
                turno_keys := array(select distinct r.{key}::text from {table} as r);
            else
                if tg_op <> 'INSERT' then
                    select r.{key}::text into turno_old from (select old.*) as r;
                end if;
                if tg_op <> 'DELETE' then
                    select r.{key}::text into turno_new from (select new.*) as r;
                end if;
                turno_keys := array[turno_old, nullif(turno_new, turno_old)];
            end if;
        exception when syntax_error_or_access_rule_violation or data_exception then
            -- Not even the key can be read. Said once: whoever repairs the table runs a check afterwards.
            insert into turno.intake_refused (n, kind, at, queue, delay_ms, error)
            select nextval('turno.intake_n_seq'), 'enqueue', turno.time_ms(), q.id, 0, 'the key cannot be read'
            from turno.queue q
            where q.name = {queue} and not exists (
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
            -- Only ever inserts: an open transaction of an application holds nobody up.
            insert into turno.intake (kind, at, queue, id, key, payload)
            values ('enqueue', turno_now, (select q.id from turno.queue q where q.name = {queue}),
                    gen_random_uuid()::text, turno_key, 'null');
        elsif turno_key is not null then
            -- A key that cannot be one must not stop the application; people find it here.
            insert into turno.intake_refused (n, kind, at, queue, key, delay_ms, error)
            values (nextval('turno.intake_n_seq'), 'enqueue', turno_now,
                    (select q.id from turno.queue q where q.name = {queue}), left(turno_key, 200), 0,
                    'the key must have 1 to 200 characters, none of them a control character');
        end if;
    end loop;
    return null;
end
