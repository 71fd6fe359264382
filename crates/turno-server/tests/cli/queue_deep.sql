-- queue_deep
-- Enqueues an item in the transaction of an application.
select turno.enqueue('mails', $1::text::jsonb, id => 'm-1')
