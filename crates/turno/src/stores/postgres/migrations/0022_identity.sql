-- The person at an OpenID provider: both columns are set, or neither. An identity belongs to one person.
alter table turno.person add column issuer text;
alter table turno.person add column subject text;
create unique index person_identity on turno.person (issuer, subject);
