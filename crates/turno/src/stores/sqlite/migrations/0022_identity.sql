-- The person at an OpenID provider: both columns are set, or neither. An identity belongs to one person.
alter table person add column issuer text;
alter table person add column subject text;
create unique index person_identity on person (issuer, subject);
