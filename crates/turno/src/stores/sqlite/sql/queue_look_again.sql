-- queue_look_again
-- By another policy a head may be due sooner: it is worth a look from its first instant on, and a claim puts back what is not
-- due.
update hot
set ready_at = not_before
where queue = ?1 and ready_at > not_before
