-- Changes a watched column of a person ($1).
update siper.usuarios set nombre = $2::text where idper = $1::int
