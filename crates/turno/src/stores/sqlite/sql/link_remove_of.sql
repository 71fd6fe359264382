-- link_remove_of
-- Of somebody whose password is new, who is locked out, or who leaves. There are few links at any time.
delete from link where user_id = ?1
