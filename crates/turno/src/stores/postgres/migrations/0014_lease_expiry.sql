-- When each lease is looked at next, so that its expiry is announced without anybody asking.
--
-- Never later than its end. Heartbeats and releases leave it, so that their updates touch no index.
alter table turno.lease add column look_at bigint;
-- Leases that somebody holds, or held until they expired unnoticed.
update turno.lease set look_at = expires_at where fence is not null;
-- Leases that are offered: due at once. The first look sets the right instant.
update turno.lease set look_at = 0 where fence is null and waiting is not null;
create index lease_look on turno.lease (look_at) where look_at is not null;
