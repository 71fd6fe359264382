-- queue_deep
-- What an application's own transaction enqueues.
select turno.enqueue('mails', $1::text::jsonb, id => 'm-1')
