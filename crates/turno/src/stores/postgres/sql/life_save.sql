-- life_save
update turno.life
set identifier = $1::text, timeline = $2::text, started = $3::text, number = (random() * 9007199254740991)::bigint
