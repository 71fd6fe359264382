-- The users, besides the one in by_user, who may read a private detail, separated by line breaks. Null if there are none.
alter table event_in add column to_users text;
