
#variable_conflict use_column
-- Marks keys whose state may have changed; what is sent for them is decided from the table when they are handed out.
-- It runs for every changed row of the application, so each statement below has to be worth its time, also a default of a
-- variable.
declare
    turno_old text;
    turno_new text;
    turno_old_speaks boolean;
    turno_new_speaks boolean;
    turno_old_takes_part boolean;
    turno_new_takes_part boolean;
    turno_keys text[];
    turno_key text;
    turno_place int;
    turno_was text;
    turno_high float8;
begin
    begin
        if tg_op = 'UPDATE' then
            -- By what is stored: needs no operator of the column's type, and no null is lost. If no compared column
            -- differs, neither do the key, the watched columns and the results of the conditions.
            if row({old_compared})::record operator(pg_catalog.*=) row({new_compared})::record then
                return null;
            end if;
            {new_query}
            if {new_matches} and row({old_kept})::record operator(pg_catalog.*=) row({new_kept})::record then
                -- The usual case: neither the key nor a column that only the conditions read has changed, so a watched
                -- column has, and the conditions need not be evaluated for the old row.
                turno_key := new.{key}::text;
            else
                turno_old := old.{key}::text;
                turno_new := new.{key}::text;
                {old_conditions}
                {new_again}
            end if;
        elsif tg_op = 'INSERT' then
            turno_new := new.{key}::text;
            {new_conditions}
        elsif tg_op = 'DELETE' then
            turno_old := old.{key}::text;
            {old_conditions}
        else
            -- A row that row security hides must not look as if it had not been there: it is an error.
            turno_was := current_setting('row_security');
            perform set_config('row_security', 'off', true);
            turno_keys := array(
                select distinct r.{key}::text from {table} as r
                where r.{key} is not null and {speaks} and ({takes_part} or exists (
                    select from turno.sync_delivered d
                    where d.queue = {number} and d.key = r.{key}::text and d.digest is not null
                ))
            );
            perform set_config('row_security', turno_was, true);
        end if;
        if turno_key is null and turno_keys is null then
            turno_keys := '{}';
            if turno_old_speaks and turno_old_takes_part
                and (turno_old is distinct from turno_new or turno_new_speaks is not true{or_left})
            then
                turno_keys := array_append(turno_keys, turno_old);
            elsif turno_old_speaks and not turno_old_takes_part
                and (turno_old is distinct from turno_new or turno_new_speaks is not true)
            then
                -- The row took no part, so nothing was told when it left by its condition. If the destination was last told
                -- that the key is active, or is being told something at this moment, it must hear that the row is gone.
                if exists (
                    select from turno.sync_delivered d
                    where d.queue = {number} and d.key = turno_old and d.digest is not null
                ) or exists (
                    select from turno.body b join turno.hot h on h.seq = b.seq
                    where b.queue = {number} and b.key = turno_old
                ) then
                    turno_keys := array_append(turno_keys, turno_old);
                end if;
            end if;
            if turno_new_speaks and turno_new_takes_part
                and (tg_op = 'INSERT' or turno_old is distinct from turno_new
                     or (turno_old_speaks and turno_old_takes_part) is not true
                     or row({old_watched})::record operator(pg_catalog.*<>) row({new_watched})::record)
            then
                turno_keys := array_append(turno_keys, turno_new);
            end if;
        end if;
    exception when syntax_error_or_access_rule_violation or data_exception then
        -- A column was dropped, or a condition fails: that must not stop the application. Whatever may have changed is
        -- marked, since a key too many does no harm; `turno sync status` says what is wrong.
        begin
            turno_key := null;
            if tg_op = 'TRUNCATE' then
                turno_was := current_setting('row_security');
                perform set_config('row_security', 'off', true);
                turno_keys := array(select distinct r.{key}::text from {table} as r);
                perform set_config('row_security', turno_was, true);
            else
                if tg_op <> 'INSERT' then
                    turno_old := old.{key}::text;
                end if;
                if tg_op <> 'DELETE' then
                    turno_new := new.{key}::text;
                end if;
                turno_keys := array[turno_old, nullif(turno_new, turno_old)];
            end if;
        exception when syntax_error_or_access_rule_violation or data_exception then
            -- Not even the key can be read. Recorded once, because a repair of the table ends with a check.
            insert into turno.intake_refused (n, kind, at, queue, delay_ms, error)
            select nextval('turno.intake_n_seq'), 'enqueue', turno.time_ms(), {number}, 0, 'the key cannot be read'
            where not exists (
                select from turno.intake_refused f where f.queue = {number} and f.error = 'the key cannot be read'
            );
            return null;
        end;
    end;
    if turno_key is null then
        turno_keys := array_remove(turno_keys, null);
        turno_place := 1;
        turno_key := turno_keys[1];
        if turno_key is null then
            return null;
        end if;
    end if;
    -- The time is that of turno.time_ms(), which would cost as much as a mark. The part of it that is stored is read once
    -- in a transaction.
    turno_high := nullif(current_setting('turno.high', true), '');
    if turno_high is null then
        turno_high := (select m.high::float8 / 1000 from turno.mark m);
        perform set_config('turno.high', turno_high::text, true);
    end if;
    loop
        if {is_name} then
            -- Only inserts, so that an open transaction of an application delays no other.
            insert into turno.sync_mark (queue, at, key)
            values ({number}, greatest(clock_timestamp(), to_timestamp(turno_high)), turno_key);
        else
            -- A key that cannot be one must not stop the application; people find it here.
            insert into turno.intake_refused (n, kind, at, queue, key, delay_ms, error)
            values (nextval('turno.intake_n_seq'), 'enqueue', turno.time_ms(), {number}, left(turno_key, 200), 0,
                    'the key must have 1 to 200 characters, none of them a control character');
        end if;
        if turno_keys is null then
            return null;
        end if;
        turno_place := turno_place + 1;
        turno_key := turno_keys[turno_place];
        if turno_key is null then
            return null;
        end if;
    end loop;
end
