-- The queues that a token is limited to, as a JSON array of names, or of prefixes that end in `*`.
alter table token add column queues text not null default '[]';

-- The permissions to read of a token with a list of permissions. A column of its own, because programs of 0.1.0 cannot read
-- these names in `scope`. Reading needed no permission before, so stored tokens with a list keep that right. Sessions live
-- for minutes and read leases and tasks without it.
alter table token add column reads text not null default '';
update token set reads = 'queues.read tasks.read metrics.read'
where scope is not null and parent is null;
