-- Lists of items by state and by key, deliveries that know their size, and claims that can be repeated.

-- How many items the last hand-out had; null where it is one, which is nearly always. A delivery that comes back from
-- outside is compared with it.
alter table hot add column size integer;
-- The request id of the claim that it was last handed out to, and the fence of that hand-out; null nearly always.
alter table hot add column request text;
alter table hot add column request_fence integer;

-- What is in process at this moment gets its size now.
update hot set size = (select count(*) from hot m where m.queue = hot.queue and m.lane = hot.lane and m.fence = hot.fence and m.expires_at is not null)
where expires_at is not null and lane is not null;
update hot set size = null where size = 1;

create index hot_request on hot (queue, request) where request is not null;
-- What people look for: exhausted items, those of a key, and what failed lately. Only the index of keys costs those who
-- enqueue something.
create index hot_parked on hot (queue, seq) where parked;
create index done_unacked on done (queue, ended, seq) where ended <> 0;
create index body_key on body (queue, key, seq) where key is not null;
create index attempt_error_age on attempt_error (at);
