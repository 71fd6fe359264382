-- Hand-outs that ended without counting as an attempt: the item was given back, or a newer change overtook it. Whoever
-- repeats such a settlement is told the same again when others have had the item since, and the life of an item shows them.
--
-- `how` is what hot.last says: 2 returned, 3 expired when it had been overtaken, 4 superseded. The newest of an item are kept.
create table turno.came_back (
    seq bigint not null,
    fence bigint not null,
    how smallint not null,
    at bigint not null,
    holder text,
    handed_at bigint,
    error text,
    primary key (seq, fence)
);
revoke all on turno.came_back from public;

-- What waits at this moment after it came back; when it did was not kept.
insert into turno.came_back (seq, fence, how, at, holder, handed_at)
select seq, fence, last, claimed_at, holder, claimed_at
from turno.hot
where last in (2, 4) and expires_at is null and claimed_at is not null;
