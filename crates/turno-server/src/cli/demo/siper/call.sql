-- A column that nobody watches: no event.
update siper.usuarios set telefono = $2::text where idper = $1::int
