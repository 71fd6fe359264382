-- queue_look_again
-- Under another policy a head may be due sooner. So every head is looked at from its earliest instant on, and a claim
-- puts back those that are not due.
update hot
set ready_at = not_before
where queue = ?1 and ready_at > not_before
