-- Hand-outs that ended without counting as an attempt: the item was given back, or a newer change overtook it. Whoever
-- repeats such a settlement is told the same again when others have had the item since, and the life of an item shows them.
--
-- `how` is what hot.last says: 2 returned, 3 expired when it had been overtaken, 4 superseded. The newest of an item are kept.
create table came_back (
    seq integer not null,
    fence integer not null,
    how integer not null,
    at integer not null,
    holder text,
    handed_at integer,
    error text,
    primary key (seq, fence)
) strict, without rowid;

-- What waits at this moment after it came back; when it did was not kept.
insert into came_back (seq, fence, how, at, holder, handed_at)
select seq, fence, last, claimed_at, holder, claimed_at
from hot
where last in (2, 4) and expires_at is null and claimed_at is not null;
