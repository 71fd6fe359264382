-- body_id
select id from body where seq = ?1
