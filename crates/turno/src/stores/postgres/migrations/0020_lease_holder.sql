-- As turno.assert_lease(resource, fence), and the user who holds the lease must be `holder`. A fence is no secret: every
-- reader of the lease sees it. So an application that saves under a fence must also name its own user.
create function turno.assert_lease(resource text, fence bigint, holder text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    held_by text;
begin
    -- Locks the row, so that the holder read next is the holder until the transaction ends.
    perform turno.assert_lease(assert_lease.resource, assert_lease.fence);
    select l.holder_user into held_by from turno.lease l where l.resource = assert_lease.resource;
    if held_by is distinct from assert_lease.holder then
        raise exception 'lease % is not held by %', assert_lease.resource, assert_lease.holder
            using errcode = 'TN020', hint = 'another user holds it under this fence: roll back';
    end if;
end
$$;
revoke all on function turno.assert_lease(text, bigint, text) from public;
