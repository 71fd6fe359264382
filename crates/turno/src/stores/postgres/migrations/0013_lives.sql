-- Lives of the database: a process drops what it remembers about the database when another life has begun.
--
-- One row: where the database was when its life began, and a random number that is another one in each life. A dump that
-- was restored has the row of its time and this table under another oid.
create table turno.life (
    identifier text,
    timeline text,
    started text,
    number bigint not null
);
insert into turno.life (number) values (0);
revoke all on turno.life from public;

-- What of a life can change while a connection lives: the start of the server and the timeline. The timeline of the last
-- checkpoint would lag behind a promotion. What the role may not read counts as empty, hence the blocks.
create function turno.server_life(out started text, out timeline text) language plpgsql volatile as $$
begin
    started := '';
    timeline := '';
    begin
        started := extract(epoch from pg_catalog.pg_postmaster_start_time())::text;
    exception when others then null;
    end;
    begin
        timeline := pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8);
    exception when others then null;
    end;
end
$$;
revoke all on function turno.server_life() from public;

-- Which cluster it is. It reads a file, so it is asked only when a life begins: one server belongs to one cluster.
create function turno.server_identifier() returns text language plpgsql volatile as $$
begin
    return (select c.system_identifier::text from pg_catalog.pg_control_system() c);
exception when others then
    return '';
end
$$;
revoke all on function turno.server_identifier() from public;
