-- An action is as long as a name, in characters: whatever the way in, the same one is taken.
--
-- Nothing but that condition differs from before.
create or replace function turno.enqueue(
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
    if enqueue.action <> '' and not turno.is_name(enqueue.action) then
        raise exception 'the action must have at most 200 characters, none of them a control character'
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
