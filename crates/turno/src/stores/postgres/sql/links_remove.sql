-- links_remove
-- Of somebody whose password is new, who is locked out, or who leaves. There are few links at any time.
delete from turno.link where user_id = $1::text
