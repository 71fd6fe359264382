-- Deletes a person; the name ($2) is not used.
delete from siper.usuarios where idper in ($1::int, $1::int + 100) and $2::text is not null
